/**
 * The board of uptime against the rule of the engine, which pages and badges show: silent, late, offline,
 * delisted and new bots, before, between and after downtimes; the edition and the scores of one listing.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { UptimeRules } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type PresenceStatus } from '../../../engine/entity/state.ts';
import { foldUptime } from '../../../engine/entity/uptime.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { openMembership } from '../../../storage/nodes/membership.ts';
import { never } from '../history/world.ts';
import { addBot, addUser, openDirectory } from './directory.ts';

const test = suite('board of uptime');
const directory = await openDirectory();
const { sql } = directory;
test.after(() => directory.close());

const random = createRandom(23);
const [checkMs, dayMs] = [300_000, 86_400_000];
const startMs = Date.UTC(2026, 2, 1);
const endMs = startMs + 30 * dayMs;

/** Any time of the month: often a check's own, or one millisecond beside it. */
const anyTime = (): number => {
  const checkAtMs = startMs + random.integer(0, (endMs - startMs) / checkMs) * checkMs;
  return checkAtMs + random.pick([0, 0, -1, 1, random.integer(0, checkMs)]);
};
const statuses: readonly PresenceStatus[] = ['online', 'idle', 'offline'];

const addRandomBot = async (number: number) => {
  const listedSinceMs = random.pick([0, startMs - dayMs, anyTime()]);
  const uptimeCheckedMs = random.chance(0.1) ? 0 : Math.floor(anyTime() / checkMs) * checkMs;
  // The last post may be fresh, late, or never have come.
  const lastStatsPostMs = random.pick([0, uptimeCheckedMs, uptimeCheckedMs - random.integer(0, 9) * checkMs]);
  const totalUptime = random.integer(0, 3_000);
  const uptime = random.integer(0, totalUptime);
  const status = random.pick([...statuses, '' as const]);
  const listed = !random.chance(0.1);
  const { incarnation } = await addBot(sql, `bot${number}`, {
    type: listed ? 'approved' : 'denied',
    listed_since: listedSinceMs === 0 ? null : new Date(listedSinceMs),
    counted: {
      uptime,
      total_uptime: totalUptime,
      uptime_checked_ms: uptimeCheckedMs,
      last_stats_post_ms: Math.max(lastStatsPostMs, 0),
      status,
    },
  });
  const counted = { uptime, totalUptime, uptimeCheckedMs, lastStatsPostMs, status };
  return {
    incarnation,
    state: { ...emptyTotals, ...counted, facts: { ...emptyFacts, listed, listedSinceMs } },
  };
};
type Bot = Awaited<ReturnType<typeof addRandomBot>>;

/** Downtimes that end after they begin and do not touch. */
const addDowntimes = async (count: number): Promise<void> => {
  const times = Array.from({ length: 2 * count }, anyTime).sort((left, right) => left - right);
  for (let index = 0; index < times.length; index += 2) {
    const [from_at, to_at] = [times[index], times[index + 1]].map((timeMs = 0) => new Date(timeMs));
    await sql`insert into outages ${sql({ from_at, to_at } as object)} on conflict do nothing`;
  }
};

/** What the page of a bot would show at this time, in percent; only of bots that are on the board. */
const computeScores = (
  bots: readonly Bot[],
  nowMs: number,
  rules: UptimeRules,
): ReadonlyMap<number, number> =>
  new Map(
    bots.flatMap(({ incarnation, state }) => {
      const { uptime, totalUptime } = foldUptime(state, nowMs, rules);
      return !state.facts.listed || totalUptime < 1_000 ? [] : [[incarnation, (100 * uptime) / totalUptime]];
    }),
  );

const readEdition = async ({ boards }: Catalogue, atMs: number): Promise<ReadonlyMap<number, number>> => {
  await boards.makeOthers(atMs, never);
  await boards.refresh();
  const places = boards.find('bot', 'uptime')?.places ?? [];
  return new Map(places.map(({ incarnation, score }) => [incarnation, score]));
};
const toSorted = (scores: ReadonlyMap<number, number>): readonly (readonly [number, number])[] =>
  [...scores].sort(([left], [right]) => left - right);

await addUser(sql, 'robin');

test('a bot that is silent for five days falls on the board as on its page', async () => {
  const state = {
    total_uptime: 2_016,
    uptime: 2_016,
    uptime_checked_ms: startMs,
    last_stats_post_ms: startMs,
  };
  const { incarnation } = await addBot(sql, 'silent', {
    counted: { ...state, status: 'online' },
    listed_since: new Date(startMs - 7 * dayMs),
  });

  const scores = await readEdition(createCatalogue(sql), startMs + 5 * dayMs);
  assert.is(scores.get(incarnation), (100 * 2_019) / (2_016 + 5 * 288));
});

for (const downtimes of [0, 12]) {
  test(`400 bots have the scores of their pages at any time, with ${downtimes} downtimes`, async () => {
    await sql`delete from bots`;
    await sql`delete from board_editions`;
    await sql`delete from board_counts`;
    await addDowntimes(downtimes);
    const membership = await openMembership(sql, { node: 'a', checkMs });
    const checkRules = { checkMs, freshMs: random.pick([900_000, checkMs + 1, 3 * 3_600_000]) };
    const rules = { ...checkRules, downtimes: await membership.listDowntimes() };
    const catalogue = createCatalogue(sql, { checkRules });
    const bots: Bot[] = [];
    for (let number = 0; number < 400; number++) bots.push(await addRandomBot(downtimes * 1_000 + number));

    const times = [startMs - dayMs, ...Array.from({ length: 8 }, anyTime), endMs + 90 * dayMs];
    for (const atMs of times.sort((left, right) => left - right)) {
      const edition = toSorted(await readEdition(catalogue, atMs));
      const expected = toSorted(computeScores(bots, atMs, rules));
      assert.equal(edition, expected);
      assert.ok(edition.length > 50);
    }
    const [bot] = bots.filter(({ incarnation }) =>
      catalogue.boards.find('bot', 'uptime')?.index.has(incarnation),
    );
    const own = await catalogue.boards.scores({ kind: 'bot', incarnation: bot?.incarnation ?? 0 });
    assert.is(own.get('uptime'), computeScores(bots, times.at(-1) ?? 0, rules).get(bot?.incarnation ?? 0));
  });
}

test.run();

/**
 * What boards remember, against a naive model over 60 days with two monthly resets: the heat of all events,
 * the values of a week ago, and all votes ever. Looks come at random intervals, sometimes days apart.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import {
  type BoardName,
  halfLifeMs,
  type RankedKind,
  toHalfLives,
  toShownScore,
} from '../../../engine/rules/boards.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import { never } from '../history/world.ts';
import { addBot, addServer, addTeam, addUser, addVote, openDirectory } from './directory.ts';

const test = suite('timeline of boards');
const directory = await openDirectory();
const { sql } = directory;
test.after(() => directory.close());

const { boards } = createCatalogue(sql);
const random = createRandom(11);
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const startMs = Date.UTC(2026, 0, 20, 9);
const endMs = startMs + 60 * dayMs;
const resets = [Date.UTC(2026, 1, 1), Date.UTC(2026, 2, 1)];

interface Event {
  readonly atMs: number;
  readonly weight: number;
}
interface Cast {
  readonly itag: string;
  readonly atMs: number;
  readonly worth: number;
  voided: boolean;
}
interface Listing {
  readonly ref: EntityRef;
  readonly sinceMs: number;
  /** Voids of votes are for some listings only: a void hides one new vote from the heat. */
  readonly voids: boolean;
  clicks: number;
  servers: number;
  readonly votes: Cast[];
  /** Events since the last look, then those of each look. */
  open: number;
  readonly events: Event[];
  /** Clicks and servers by day of a look that found a change. */
  readonly days: Map<number, { readonly clicks: number; readonly servers: number }>;
}

const listings: Listing[] = [];
const list = async (number: number): Promise<void> => {
  const sinceMs = startMs - random.integer(0, 40) * dayMs + random.integer(0, 1) * 35 * dayMs;
  const created_at = new Date(sinceMs);
  const ref =
    number % 4 === 3
      ? await addServer(sql, `server${number}`, { team_id: 'team1', created_at })
      : await addBot(sql, `bot${number}`, { created_at });
  const counts = { clicks: 0, servers: 0, votes: [], open: 0, events: [], days: new Map() };
  listings.push({ ref, sinceMs, voids: number < 4, ...counts });
};

/** Clicks, votes and posts of one listing within a step. */
const act = async (listing: Listing, atMs: number): Promise<void> => {
  const clicks = random.integer(0, 4);
  const votes = random.integer(0, 2);
  listing.clicks += clicks;
  let points = clicks;
  for (let vote = 0; vote < votes; vote++) {
    const upvote = random.chance(0.7);
    const created = new Date(atMs - vote);
    const itag = await addVote(sql, listing.ref, {
      author: `user${vote}`,
      created_at: created.toISOString(),
      upvote,
    });
    listing.votes.push({ itag, atMs: atMs - vote, worth: upvote ? 1 : -1, voided: false });
    points += upvote ? 5 : -2;
  }
  const ups = listing.votes.slice(listing.votes.length - votes).filter(({ worth }) => worth === 1).length;
  if (listing.ref.kind === 'bot' && random.chance(0.3)) listing.servers = random.integer(80, 400);
  listing.open += points;
  await sql`
    update totals set unique_clicks = ${listing.clicks}, servers = ${listing.servers},
      upvotes = upvotes + ${ups}, downvotes = downvotes + ${votes - ups},
      votes_logged = votes_logged + ${votes}
    where incarnation = ${listing.ref.incarnation}`;
};

/** What the hot store and the flush do with open adjustments. */
const applyAdjustments = async (): Promise<void> => {
  await sql`
    update totals set upvotes = upvotes + up, downvotes = downvotes + down,
      released_before_ms = greatest(released_before_ms, released)
    from (
      select incarnation, sum((payload->>'upvotes')::bigint) as up,
        sum((payload->>'downvotes')::bigint) as down,
        max(coalesce((payload->>'releaseBeforeMs')::bigint, 0)) as released
      from adjustments where settled_at is null group by incarnation) as open
    where totals.incarnation = open.incarnation`;
  await sql`update adjustments set settled_at = now()`;
};

const voidOne = async ({ votes }: Listing, monthMs: number): Promise<void> => {
  const valid = votes.filter((vote) => !vote.voided && vote.atMs >= monthMs);
  const vote = valid.length === 0 ? null : random.pick(valid);
  if (vote === null) return;
  await voidVote(sql, vote.itag, 'operator');
  vote.voided = true;
};

/** One look of the boards, in SQL and in the model. */
const look = async (atMs: number): Promise<void> => {
  await boards.makeOthers(atMs, never);
  const day = Math.floor(atMs / dayMs);
  for (const listing of listings) {
    const { clicks, servers, days, events } = listing;
    if (listing.open > 0) events.push({ atMs, weight: listing.open });
    listing.open = 0;
    const newest = Math.max(...days.keys());
    const last = days.get(newest);
    if (day > newest && (last?.clicks !== clicks || last?.servers !== servers))
      days.set(day, { clicks, servers });
  }
};

/** The values of a listing seven days before; if it is younger, those of its first day, not `known`. */
const readWeekAgo = ({ days }: Listing, atMs: number) => {
  const wanted = Math.floor(atMs / dayMs) - 7;
  const sorted = [...days.keys()].sort((left, right) => left - right);
  const day = sorted.filter((known) => known <= wanted).at(-1) ?? sorted[0] ?? 0;
  return { known: day <= wanted, clicks: 0, servers: 0, ...days.get(day) };
};

const sumHeat = ({ events }: Listing, atMs: number): number =>
  events.reduce((sum, event) => sum + event.weight * 2 ** ((event.atMs - atMs) / halfLifeMs), 0);

const sumVotes = (votes: readonly Cast[], fromMs: number, toMs: number): number =>
  votes
    .filter((vote) => !vote.voided && vote.atMs >= fromMs && vote.atMs < toMs)
    .reduce((sum, { worth }) => sum + worth, 0);

/** The score of a listing by the model; `null` when it does not qualify. */
const computeScore = (board: BoardName, listing: Listing, atMs: number): number | null => {
  const before = readWeekAgo(listing, atMs);
  const reset = resets.findLast((resetMs) => resetMs + 10 * minuteMs <= atMs);
  const positive = (score: number): number | null => (score > 0 ? score : null);
  switch (board) {
    case 'votes-ever':
      return positive(sumVotes(listing.votes, 0, Infinity));
    case 'votes-last-month': {
      if (reset === undefined) return null;
      const date = new Date(reset);
      return positive(
        sumVotes(listing.votes, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1), reset),
      );
    }
    case 'unique-clicks-week':
      return positive(listing.clicks - before.clicks);
    case 'growth-week': {
      const added = listing.servers - before.servers;
      return before.known && before.servers >= 100 && added >= before.servers * 0.05 ? added : null;
    }
    case 'trending':
    case 'newcomers': {
      const heat = sumHeat(listing, atMs);
      const isNew = listing.sinceMs > atMs - 30 * dayMs;
      return heat >= 0.01 && (board === 'trending' || isNew) ? Math.log2(heat) + toHalfLives(atMs) : null;
    }
    default:
      throw new Error(`${board} needs no memory`);
  }
};

const remembered: readonly BoardName[] = [
  'votes-ever',
  'votes-last-month',
  'unique-clicks-week',
  'growth-week',
  'trending',
  'newcomers',
];

let compared = 0;
const compare = async (kind: RankedKind, board: BoardName, atMs: number): Promise<void> => {
  const edition = boards.find(kind, board);
  const isHeat = board === 'trending' || board === 'newcomers';
  const wanted = listings.flatMap((listing) => {
    const score =
      listing.ref.kind === kind && !(isHeat && listing.voids) ? computeScore(board, listing, atMs) : null;
    return score === null ? [] : [[listing.ref.incarnation, score] as const];
  });
  const skipped: ReadonlySet<number> = new Set(
    listings.filter(({ voids }) => isHeat && voids).map(({ ref }) => ref.incarnation),
  );
  const made = (edition?.places ?? []).filter(({ incarnation }) => !skipped.has(incarnation));
  const where = `${board} of ${kind} at ${new Date(atMs).toISOString()}`;
  assert.equal(
    made.map(({ incarnation }) => incarnation).sort((left, right) => left - right),
    wanted.map(([incarnation]) => incarnation).sort((left, right) => left - right),
    where,
  );
  for (const [incarnation, score] of wanted) {
    const place = made.find((one) => one.incarnation === incarnation);
    // A difference of logarithms is a relative error of the sum.
    const error = Math.abs((place?.score ?? 0) - score) * (isHeat ? Math.LN2 : 1);
    assert.ok(error <= 1e-9, `${where}: ${place?.score}, not ${score}`);
    compared += 1;
  }
  const scores = made.map(({ score }) => score);
  assert.equal(
    scores,
    [...scores].sort((left, right) => right - left),
    where,
  );
};

const compareAll = async (atMs: number): Promise<void> => {
  await boards.refresh();
  for (const kind of ['bot', 'server'] as const)
    for (const board of remembered)
      if (kind === 'bot' || board !== 'growth-week') await compare(kind, board, atMs);
};

const nextStep = (nowMs: number): number => {
  const step = random.chance(0.03) ? random.integer(2, 9) * dayMs : random.integer(1, 60) * 10 * minuteMs;
  const next = nowMs + step;
  // No step passes a reset.
  const reset = resets.find((resetMs) => resetMs > nowMs && resetMs < next);
  return reset ?? next;
};

test('60 days with two resets: each board is what a sum over all events and votes gives', async () => {
  await addUser(sql, 'robin');
  await addTeam(sql, 'team1');
  for (let number = 0; number < 24; number++) await list(number);
  let monthMs = 0;
  let isResetOpen = false;
  let looks = 0;
  await look(startMs);
  for (let atMs = nextStep(startMs); atMs < endMs; atMs = nextStep(atMs)) {
    if (resets.includes(atMs)) {
      await resetVotes(sql, { scope: 'all', atMs, reason: 'monthly_reset' });
      [monthMs, isResetOpen] = [atMs, true];
      continue;
    }
    // Beside a reset, new votes may be taken for downvotes or upvotes: here it arrives alone.
    const arrives: boolean = isResetOpen && random.chance(0.3);
    if (arrives) await applyAdjustments();
    else for (const listing of listings) if (random.chance(0.2)) await act(listing, atMs);
    isResetOpen &&= !arrives;
    if (!isResetOpen) for (const listing of listings) if (listing.voids) await voidOne(listing, monthMs);
    if (!isResetOpen) await applyAdjustments();
    await look(atMs);
    looks += 1;
    await compareAll(atMs);
  }
  assert.ok(looks > 100 && compared > 5_000, `${looks} looks, ${compared} scores compared`);
});

test('a heat is shown as the weight that is left', () => {
  const heat = Math.log2(40) + toHalfLives(startMs);

  assert.is(toShownScore('trending', heat, startMs), 40);
  assert.is(toShownScore('trending', heat, startMs + 12 * hourMs), 20);
  assert.is(toShownScore('newcomers', heat, startMs + 4_000 * hourMs), 0);
  assert.is(toShownScore('uptime', 99.99999, startMs), 99.999);
});

test.run();

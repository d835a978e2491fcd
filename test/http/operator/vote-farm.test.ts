/**
 * A farm of accounts among honest voters who share their addresses: nearly all of the farm is flagged, nearly
 * none of the honest, no vote is refused, and what a plan by flags voids comes back to the vote. The seed is
 * drawn; `FARM_SEED` repeats one.
 */
import { randomInt } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { createOriginEncoder } from '../../../engine/rules/vote-origin.ts';
import { createVoteFlags, type VoteFlags } from '../../../ops/jobs/vote-flags.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { type OperatedWorld, openOperated } from './world.ts';

const test = suite('a farm of accounts');

const sizes = { listings: 300, honest: 50_000, sharedAddresses: 20, farm: 500, farmAddresses: 7 };
const [minuteMs, hourMs] = [60_000, 3_600_000];
const dayMs = 24 * hourMs;
const sliceMs = 10 * minuteMs;
const seed = Number(process.env.FARM_SEED ?? randomInt(2 ** 31));
const { next: random, below: upTo } = createRandom(seed);
const flagged: { note: VoteFlags['note'] } = { note: () => {} };
const world: OperatedWorld = await openOperated({
  flushIntervalMs: 20,
  onVotes: (votes) => flagged.note(votes),
});
const { sql, clock, engine } = world;
test.after(() => world.close());

interface Cast {
  readonly user: string;
  readonly listing: number;
  readonly address: string;
  /** After the begin. */
  readonly atMs: number;
  readonly ageMs: number;
}

/** Picks an index with a weight that falls with it, as popularity does. */
const buildPicker = (count: number): (() => number) => {
  let sum = 0;
  const sums = Array.from({ length: count }, (_, index) => (sum += 1 / (index + 1)));
  return () => {
    const at = random() * sum;
    return sums.findIndex((each) => at < each);
  };
};
const pickListing = buildPicker(sizes.listings);
const pickAge = (youngShare: number): number =>
  random() < youngShare ? upTo(hourMs) : hourMs + upTo(400 * dayMs);

const buildHonest = (): Cast[] => {
  const youngShare = 0.5 * random();
  return Array.from({ length: sizes.honest }, (_, index) => ({
    user: `honest${index}`,
    listing: pickListing(),
    address: `198.51.100.${Math.min(upTo(sizes.sharedAddresses), upTo(2 * sizes.sharedAddresses))}`,
    atMs: upTo(dayMs),
    ageMs: pickAge(youngShare),
  }));
};

/** On one to five listings, each account on one or on all of them, for one hour to twenty. */
const buildFarm = (): Cast[] => {
  const targets = Array.from({ length: 1 + upTo(5) }, () => 5 + upTo(sizes.listings - 5));
  const [fromMs, lastsMs] = [upTo(4 * hourMs), hourMs + upTo(19 * hourMs)];
  const [youngShare, votesOnAll] = [random(), random() < 0.5];
  return Array.from({ length: sizes.farm }, (_, index) => {
    const address = `203.0.113.${upTo(sizes.farmAddresses)}`;
    const ageMs = pickAge(youngShare);
    const own = votesOnAll ? targets : [targets[upTo(targets.length)] ?? 0];
    return [...new Set(own)].map((listing) => {
      const atMs = fromMs + upTo(lastsMs);
      return { user: `farm${index}`, listing, address, atMs, ageMs };
    });
  }).flat();
};

const countVotes = async (): Promise<number> =>
  (await sql<{ votes: number }[]>`select count(*)::int as votes from vote_origins`)[0]?.votes ?? 0;
const listCounted = async (): Promise<string> => {
  const [row] = await sql<{ digest: string }[]>`
    select count(*) || ' ' || md5(string_agg(itag::text, ',' order by itag)) as digest from vote_rows
    where not void`;
  return row?.digest ?? '';
};
const readTotals = async (): Promise<number[]> => {
  const totals: number[] = [];
  for (let index = 0; index < sizes.listings; index++) {
    const { state } = await engine.read('bot', `listing${index}`);
    totals.push(state.upvotes - state.downvotes);
  }
  return totals;
};

/** Casts the votes in the order of their times; resolves to how many were refused. */
const cast = async (votes: readonly Cast[], job: VoteFlags['job']): Promise<number> => {
  const encode = createOriginEncoder(new Uint8Array(32));
  const begin = clock.nowMs();
  const sorted = [...votes].sort((one, other) => one.atMs - other.atMs);
  let [refused, done] = [0, 0];
  for (let untilMs = sliceMs; untilMs <= dayMs; untilMs += sliceMs) {
    clock.skip(begin + untilMs - clock.nowMs());
    const slice = sorted.slice(done, done + sorted.slice(done).findIndex(({ atMs }) => atMs >= untilMs));
    const some = untilMs === dayMs ? sorted.slice(done) : slice;
    done += some.length;
    const outcomes = await Promise.all(
      some.map(({ user, listing, address, atMs, ageMs }) => {
        const firstSeenMs = begin + atMs - ageMs;
        const origin = encode({ address, agent: 'a', firstSeenMs }, begin + atMs);
        return engine.vote({ kind: 'bot', id: `listing${listing}`, user, upvote: true, origin });
      }),
    );
    refused += outcomes.filter(({ kind }) => kind !== 'voted').length;
    await job.run(new AbortController().signal);
  }
  return refused;
};

test(`of a farm ≥ 95 % is flagged, of the honest ≤ 1 %, none is refused (seed ${seed})`, async () => {
  await addUser(sql, 'robin');
  for (let index = 0; index < sizes.listings; index++) await addBot(sql, `listing${index}`);
  const { note, job } = createVoteFlags(sql, clock);
  flagged.note = note;
  const votes = [...buildHonest(), ...buildFarm()];

  assert.is(await cast(votes, job), 0);
  await until('all votes are in SQL', async () => (await countVotes()) === votes.length, 60_000);
  await job.run(new AbortController().signal);
  const rows = await sql<{ who: string; share: number }[]>`
    select regexp_replace(author, '[0-9]+', '') as who, avg((flags > 0)::int)::float8 as share
    from vote_origins group by who`;
  const shares = Object.fromEntries(rows.map(({ who, share }) => [who, share]));
  assert.ok((shares.farm ?? 0) >= 0.95 && (shares.honest ?? 1) <= 0.01, JSON.stringify(shares));
});

test('what a plan by flags voids comes back to the vote', async () => {
  const [counted, totals] = [await listCounted(), await readTotals()];
  const finish = async ({ plan }: { plan: string }) => {
    let shown = (await world.send(`GET /votes/void/${plan}`)).json;
    await until('the plan is done', async () => {
      shown = (await world.send(`GET /votes/void/${plan}`)).json;
      return !['planning', 'voiding', 'undoing'].includes(shown.state);
    });
    return shown;
  };
  const query = {
    since: '2020-01-01T00:00:00Z',
    before: '2150-01-01T00:00:00Z',
    flags: 15,
    reason: 'A farm.',
  };
  const plan = await finish((await world.send('POST /votes/void?dry_run=true', query)).json);
  assert.ok(plan.votes >= 0.95 * sizes.farm, String(plan.votes));
  await world.send('POST /votes/void', { plan: plan.plan });
  assert.is((await finish(plan)).voided, plan.votes);
  const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
  await until('the totals fall', async () => sum(await readTotals()) === sum(totals) - plan.votes);

  await world.send(`POST /votes/void/${plan.plan}/undo`);
  assert.is((await finish(plan)).restored, plan.votes);
  await until('the totals rise', async () => sum(await readTotals()) === sum(totals));
  assert.equal([await listCounted(), await readTotals()], [counted, totals]);
});

test.run();

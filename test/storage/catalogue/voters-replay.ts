/**
 * A directory that lives through some months: votes, single voids, plans and their undoing, resets, redeems,
 * drawn from a seed and given to SQL and to the model. Afterwards both must agree about every vote.
 */
import * as assert from 'uvu/assert';
import { createRandom, type Random } from '../../../bench/shared/random.ts';
import type { EntityRef, Incarnation } from '../../../engine/ids.ts';
import { fillPlan, takePage } from '../../../storage/catalogue/operator/plan-steps.ts';
import { createPlan, startUndo, startVoiding } from '../../../storage/catalogue/operator/void-plans.ts';
import { redeemVotes, upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { createVoteLog } from '../../../storage/catalogue/votes/vote-log.ts';
import { createVoters, type VoterSummary } from '../../../storage/catalogue/votes/voters.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { createPartitions } from '../../../storage/ledger/partitions.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import {
  createVotersModel,
  type ModelPlan,
  type ModelVote,
  type VotersModel,
} from '../../model/voters-model.ts';
import { dirty, itagOf } from '../ledger/world.ts';
import { addBot, addUser } from './directory.ts';

export interface ReplaySize {
  readonly seed: number;
  readonly votes: number;
  readonly listings: number;
  readonly authors: number;
  /** Requests between two decisions. */
  readonly batch: number;
}
interface CastCounts {
  upvotes: number;
  downvotes: number;
  version: number;
}
interface ReplayedListing {
  readonly ref: EntityRef;
  readonly cast: CastCounts;
  readonly numbers: { logged: number };
}
export interface Replay {
  readonly sql: Sql;
  readonly size: ReplaySize;
  readonly random: Random;
  readonly model: VotersModel;
  readonly listings: Map<number, ReplayedListing>;
  readonly plans: ModelPlan[];
  readonly used: Set<string>;
}

const dayMs = 86_400_000;
/** Two weeks before the end of a year, and until spring. */
const startMs = Date.UTC(2025, 11, 18);
const days = 75;
const waits = { nowMs: Date.UTC(2027, 0, 1), waitMsMax: 43_200_000 };

const pickListing = ({ random, listings }: Replay): EntityRef => random.pick([...listings.values()]).ref;

/** Half of the times are at the very end or beginning of a day. */
const drawTime = ({ random }: Replay, nowMs: number): number => {
  const atMs = nowMs - random.below(dayMs);
  const midnightMs = atMs - (atMs % dayMs);
  return random.pick([atMs, atMs, midnightMs, midnightMs - 1]);
};

let itags = 0;
/** The votes of a request; none if its voter has one at this time. */
const drawRequest = (replay: Replay, nowMs: number): readonly ModelVote[] => {
  const { random, model, size } = replay;
  const pair = {
    listing: pickListing(replay).incarnation,
    author: `voter${Math.floor(random.next() ** 2 * size.authors)}`,
  };
  const atMs = drawTime(replay, nowMs);
  if (model.listOf(pair).some((vote) => vote.atMs === atMs)) return [];
  const request = { ...pair, atMs, upvote: random.chance(0.8) };
  // Only an import makes votes immutable, and none was late for a reset.
  const immutable = random.chance(0.03) && !model.isReset({ ...request, immutable: false });
  return Array.from({ length: random.integer(1, 2) }, (_, voteNumber) => ({
    ...{ ...request, itag: itagOf(++itags), voteNumber, immutable },
    ...{ number: 0, isRedeemed: false, rejectedBy: null },
  }));
};

/** The order in which a flush numbers votes. */
const compareLogged = (left: ModelVote, right: ModelVote): number =>
  left.atMs - right.atMs ||
  (left.author === right.author ? (left.itag < right.itag ? -1 : 1) : left.author < right.author ? -1 : 1);

const castVotes = async (replay: Replay, nowMs: number): Promise<void> => {
  const { sql, model, listings, size } = replay;
  const votes: ModelVote[] = [];
  for (let request = 0; request < size.batch; request++) {
    const drawn = drawRequest(replay, nowMs);
    for (const vote of drawn) model.cast(vote);
    votes.push(...drawn);
  }
  const rows = votes.map(({ listing, author: user, ...vote }) => {
    const { ref, cast } = listings.get(listing) as ReplayedListing;
    cast[vote.upvote ? 'upvotes' : 'downvotes'] += 1;
    cast.version += 1;
    return { ...vote, ref, user };
  });
  for (const vote of [...votes].sort(compareLogged)) {
    const { numbers } = listings.get(vote.listing) as ReplayedListing;
    vote.number = ++numbers.logged;
  }
  const entities = [...listings.values()].map(({ ref, cast }) => dirty(ref, 1, cast));
  await createLedger(sql).flush({ entities, votes: rows });
  const kept = votes.filter(({ immutable }) => immutable).map(({ itag }) => itag);
  await sql`update votes set immutable = true where itag = any(${kept}::uuid[])`;
};

const makePlan = async ({ sql, random, model, plans, size, ...replay }: Replay, nowMs: number) => {
  const ref = pickListing({ sql, random, model, plans, size, ...replay });
  const sinceMs = nowMs - random.integer(1, 20) * dayMs;
  const beforeMs = sinceMs + random.integer(1, 72) * 3_600_000;
  const isOfListing = random.chance(0.7);
  const user = random.chance(0.5) ? `voter${random.below(size.authors)}` : undefined;
  const query = {
    ...(isOfListing && { target_type: ref.kind, target_id: ref.id }),
    ...{ user, since: new Date(sinceMs).toISOString(), before: new Date(beforeMs).toISOString() },
  };
  const releases = random.chance(0.3);
  const id = (await createPlan(sql, { query, reason: 'x', operator: 'robin', releases })) ?? '';
  assert.ok(id, 'too many plans');
  await fillPlan(sql, id);
  const isChosen = (vote: ModelVote): boolean =>
    (!isOfListing || vote.listing === ref.incarnation) &&
    (user === undefined || vote.author === user) &&
    vote.atMs >= sinceMs &&
    vote.atMs < beforeMs &&
    !vote.immutable;
  plans.push({ id, releases, votes: model.votes.filter((vote) => isChosen(vote) && model.isGenuine(vote)) });
};

const workOnPlan = async (sql: Sql, id: string): Promise<void> => {
  while ((await takePage(sql, id, waits)).isMore);
};

/** Uses the oldest plan that was not. */
const usePlan = async ({ sql, model, plans, used }: Replay): Promise<void> => {
  const plan = plans.find(({ id }) => !used.has(id));
  if (plan === undefined) return;
  used.add(plan.id);
  assert.ok(await startVoiding(sql, plan.id));
  await workOnPlan(sql, plan.id);
  model.usePlan(plan);
};

/** Undoes a plan, perhaps again. */
const undoPlan = async ({ sql, model, random, plans, used }: Replay): Promise<void> => {
  if (used.size === 0) return;
  const plan = random.pick(plans.filter(({ id }) => used.has(id)));
  assert.ok(await startUndo(sql, plan.id));
  await workOnPlan(sql, plan.id);
  model.undoPlan(plan);
};

const voidOne = async ({ sql, model, random }: Replay): Promise<void> => {
  if (model.votes.length === 0) return;
  const vote = random.pick(model.votes);
  await voidVote(sql, vote.itag, 'operator');
  model.reject(vote);
};

const reset = async ({ sql, model }: Replay, atMs: number, listing?: Incarnation): Promise<void> => {
  const reason = listing === undefined ? 'monthly_reset' : 'operator';
  await resetVotes(sql, { scope: listing ?? 'all', atMs, reason });
  model.reset({ listing: listing ?? 'all', atMs, reason });
};

const redeem = async (replay: Replay): Promise<void> => {
  const { sql, model, random } = replay;
  const ref = pickListing(replay);
  const valid = model.votes.filter((vote) => vote.listing === ref.incarnation && model.isValid(vote));
  const net = valid.reduce((sum, { upvote }) => sum + (upvote ? 1 : -1), 0);
  if (net < 1) return;
  const votes = random.integer(1, net);
  assert.is((await redeemVotes(sql, { ref, kind: 'bot', votes })).kind, 'redeemed');
  model.redeem(ref.incarnation, votes);
};

const decide = async (replay: Replay, nowMs: number): Promise<void> => {
  const { random } = replay;
  const share = random.next();
  if (share < 0.3) return voidOne(replay);
  if (share < 0.5) await makePlan(replay, nowMs);
  if (share < 0.65) return random.chance(0.8) ? usePlan(replay) : undefined;
  if (share < 0.8) return undoPlan(replay);
  if (share > 0.82) return redeem(replay);
  return reset(replay, nowMs - random.below(5 * dayMs), pickListing(replay).incarnation);
};

const openReplay = async (sql: Sql, size: ReplaySize): Promise<Replay> => {
  const listings: Replay['listings'] = new Map();
  await addUser(sql, 'robin');
  await upsertTier(sql, { id: 'tier', target_type: 'bot', position: 0, votes: 1_000_000, cents: 1 });
  for (let index = 0; index < size.listings; index++) {
    const ref = await addBot(sql, String(100_000_000_000_000_000n + BigInt(index)));
    const cast = { upvotes: 0, downvotes: 0, version: 0 };
    listings.set(ref.incarnation, { ref, cast, numbers: { logged: 0 } });
  }
  const months = Array.from({ length: 4 }, (_, month) => ({ atMs: startMs + month * 28 * dayMs }));
  await createPartitions(sql).prepare(months);
  const random = createRandom(size.seed);
  return { sql, size, random, model: createVotersModel(), listings, plans: [], used: new Set() };
};

/** Runs a replay on an empty database. */
export const runReplay = async (sql: Sql, size: ReplaySize): Promise<Replay> => {
  const replay = await openReplay(sql, size);
  const steps = Math.ceil(size.votes / 1.5 / size.batch);
  let month = 13;
  for (let step = 1; step <= steps; step++) {
    const nowMs = startMs + Math.floor((step * days * dayMs) / steps);
    if (nowMs > Date.UTC(2025, month - 1)) await reset(replay, Date.UTC(2025, month++ - 1));
    await castVotes(replay, nowMs);
    await decide(replay, nowMs);
  }
  while (replay.used.size < replay.plans.length) await usePlan(replay);
  return replay;
};

/** Checks each vote and each total. */
export const assertSameVotes = async ({ sql, model, listings, size }: Replay): Promise<void> => {
  for (const incarnation of listings.keys()) {
    const own = model.votes.filter(({ listing }) => listing === incarnation);
    const rows = await sql<{ itag: string }[]>`
      select itag from vote_rows where incarnation = ${incarnation} and not rejected order by itag`;
    const genuine = own.filter(model.isGenuine).map(({ itag }) => itag);
    const found = rows.map(({ itag }) => itag);
    assert.equal(found, genuine.sort(), `what counts for voters, SEED=${size.seed}`);
    const [sums] = await sql<{ valid: number; total: number }[]>`
      select (select count(*) from vote_rows where incarnation = ${incarnation} and not void) as valid,
        upvotes + downvotes + coalesce((
          select sum(coalesce((payload ->> 'upvotes')::bigint, 0)
            + coalesce((payload ->> 'downvotes')::bigint, 0))
          from adjustments where adjustments.incarnation = totals.incarnation), 0)::bigint as total
      from totals where incarnation = ${incarnation}`;
    const valid = own.filter(model.isValid).length;
    assert.equal(sums, { valid, total: valid }, `what counts for totals, SEED=${size.seed}`);
  }
};

/** Checks what a voter is shown, for some voters at some times. */
export const assertSameSummaries = async (replay: Replay, pairs: number): Promise<void> => {
  const { sql, model, random, size } = replay;
  for (let pair = 0; pair < pairs; pair++) {
    const ref = pickListing(replay);
    const user = `voter${random.below(size.authors)}`;
    const nowMs = startMs + random.below((days + 3) * dayMs);
    const [row] = await createVoters(sql).summariesOn({ users: [user], ref }, new Date(nowMs));
    const { truncated: _, ...found } = row as VoterSummary;
    const known = { listing: ref.incarnation, author: user };
    assert.equal(found, model.summarise(known, nowMs), `${user} at ${nowMs}, SEED=${size.seed}`);
  }
};

/** Checks what the log says of voters, as of each vote. */
export const assertSameLog = async ({ sql, model, listings, size }: Replay, pages: number): Promise<void> => {
  const { page } = createVoteLog(sql);
  for (const { ref, numbers } of listings.values())
    for (let read = 0; read < pages; read++) {
      const after = Math.floor((read * numbers.logged) / pages);
      const rows = await page({ ref, after, limit: 100, hasVoter: true });
      assert.ok(rows.length > 0);
      for (const { number, author, created_at, voter } of rows) {
        const pair = { listing: ref.incarnation, author };
        const { streak_ends_at: _, ...figures } = model.summarise(pair, created_at.getTime(), number);
        assert.equal(voter, figures, `number ${number} of ${ref.id}, SEED=${size.seed}`);
      }
    }
};

/** Checks the top voters of each listing, of the last month and of all time. */
export const assertSameTop = async ({ sql, model, listings, size }: Replay): Promise<void> => {
  const { counts } = createVoters(sql);
  const nowMs = startMs + days * dayMs;
  for (const { ref } of listings.values())
    for (const sinceMs of [Date.UTC(2026, 2), 0]) {
      const since = new Date(sinceMs).toISOString();
      const found = (await counts({ ref, by: 'author', since }, nowMs))?.counts;
      assert.equal(found, model.rank(ref.incarnation, sinceMs), `since ${since}, SEED=${size.seed}`);
    }
};

export const drawSeed = (): number => Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

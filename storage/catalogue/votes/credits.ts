/**
 * Vote credits in SQL: the tiers, what a listing may still redeem, its redeems, and redeeming.
 *
 * Tiers are the operator's data. A redeem belongs to one incarnation of a listing: a later listing with the
 * same id has none. It is one SQL transaction, one at a time per listing. As for every decision about past
 * votes (storage/ledger/adjust.ts), the caller flushes the outbox first (`engine.waitForFlush`) and delivers
 * the adjustment afterwards (`engine.deliverAdjustments`). Redeemed votes become void, but their voters still
 * have to wait as before. The hot store needs no list of these voters, because nothing releases them: a reset
 * excludes them (`findPinned`). So a redeem of any size is one adjustment.
 */
import type { EntityRef } from '../../../engine/ids.ts';
import { type CreditKind, type CreditTier, computeValueCents } from '../../../engine/rules/credits.ts';
import { lockListing, writeAdjustments } from '../../ledger/adjustments.ts';
import { writeVoidDeliveries } from '../../ledger/webhook-deliveries.ts';
import { type Queryable, runTransaction, type Sql, type Transaction } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { locks } from '../../sql/locks.ts';
import { hasRow, readValue } from '../../sql/rows.ts';
import { type Once, type OnceResult, runOnce } from '../shared/once.ts';
import { buildLiveVotes } from './voter-segments.ts';

export interface TierRow {
  readonly id: string;
  readonly target_type: CreditKind;
  readonly position: number;
  readonly votes: number;
  readonly cents: number;
  readonly created_at: Date;
}
export interface RedeemRow {
  readonly id: string;
  /** A decimal string, in cents: may exceed 2^53. */
  readonly credits: string;
  readonly redeemed_credits: string;
  readonly redeemed_at: Date | null;
  readonly created_at: Date;
}
export interface Redeems {
  /** Sums over all redeems: decimal strings, in cents. */
  readonly credits: string;
  readonly spent: string;
  /** Newest first, at most `redeemsShownMax`. */
  readonly rows: readonly RedeemRow[];
}
/** What SQL knows about the votes that can be redeemed; the totals come from the engine. */
export interface RedeemBalance {
  readonly tiers: readonly TierRow[];
  /** Votes redeemed since the last monthly reset. */
  readonly redeemed: bigint;
  /** Adjustments in the ledger that the caller's totals do not contain yet. */
  readonly pendingUpvotes: number;
  readonly pendingDownvotes: number;
}
export interface RedeemRequest {
  readonly ref: EntityRef;
  readonly kind: CreditKind;
  /** At least 1. */
  readonly votes: number;
}
export type RedeemOutcome =
  | { readonly kind: 'redeemed'; readonly id: string; readonly credits: bigint }
  | { readonly kind: 'too_few'; readonly redeemable: number }
  | { readonly kind: 'no_tiers' | 'unknown_listing' };

const redeemsShownMax = 2_000;

/** Lists all tiers, or those of one kind, in ascending order. */
const listTiers = (sql: Queryable, kind: CreditKind | null = null): Promise<readonly TierRow[]> =>
  sql<TierRow[]>`
    select id, target_type, position, votes, cents, created_at from vote_credit_tiers
    ${kind === null ? sql`` : sql`where target_type = ${kind}`}
    order by position, target_type, id`;

/** Converts a row of SQL to a tier as engine/rules/credits.ts computes with it. */
const toTierRule = (row: TierRow): CreditTier => ({
  votes: BigInt(row.votes),
  cents: BigInt(row.cents),
});

/** Tiers of all kinds together. Concurrent creations may exceed the limit by one. */
const tiersMax = 200;

/** Creates or replaces a tier; ledger when it resolves. False when the limit on tiers is reached. */
export const upsertTier = (sql: Queryable, tier: Omit<TierRow, 'created_at'>): Promise<boolean> =>
  hasRow(sql`
    insert into vote_credit_tiers (id, target_type, position, votes, cents)
    select ${tier.id}, ${tier.target_type}, ${tier.position}::integer, ${tier.votes}::bigint,
      ${tier.cents}::bigint
    where (select count(*) from vote_credit_tiers where id <> ${tier.id}) < ${tiersMax}
    on conflict (id) do update set target_type = excluded.target_type, position = excluded.position,
      votes = excluded.votes, cents = excluded.cents
    returning id`);

/** Deletes a tier; ledger when it resolves. False when there is no such tier. */
export const deleteTier = (sql: Queryable, id: string): Promise<boolean> =>
  hasRow(sql`delete from vote_credit_tiers where id = ${id} returning id`);

/** Tiers as operators write them. */
export const createTiers = (sql: Sql) => bindStorage('tiers', sql, { put: upsertTier, remove: deleteTier });

/** Builds the time of the last monthly reset of a listing, `-infinity` before the first. */
const buildCycleStart = (sql: Queryable, incarnation: number) => sql`(
  select coalesce(max(at), '-infinity') from vote_resets
  where reason = 'monthly_reset' and scope in ('all', ${String(incarnation)}))`;

/** Reads a listing's balance. `appliedSequence` is the last adjustment that the caller's totals contain. */
const readRedeemBalance = async (
  sql: Queryable,
  { ref, kind }: { ref: EntityRef; kind: CreditKind },
  appliedSequence: number,
): Promise<RedeemBalance> => {
  const tiers = await listTiers(sql, kind);
  const [row] = await sql<{ redeemed: string; upvotes: number; downvotes: number }[]>`
    select (
      select coalesce(sum(votes), 0)::text from vote_redeems
      where incarnation = ${ref.incarnation}
        and cycle = ${buildCycleStart(sql, ref.incarnation)}) as redeemed,
      coalesce(sum((payload->>'upvotes')::bigint), 0)::bigint as upvotes,
      coalesce(sum((payload->>'downvotes')::bigint), 0)::bigint as downvotes
    from adjustments
    where incarnation = ${ref.incarnation} and action = 'adjust' and sequence > ${appliedSequence}`;
  const { redeemed = '0', upvotes = 0, downvotes = 0 } = row ?? {};
  return { tiers, redeemed: BigInt(redeemed), pendingUpvotes: upvotes, pendingDownvotes: downvotes };
};

/** Reads the redeems of a listing and their sums. */
const readRedeems = async (sql: Queryable, ref: EntityRef): Promise<Redeems> => {
  const rows = await sql<RedeemRow[]>`
    select id, credits::text, redeemed_credits::text, redeemed_at, created_at from vote_redeems
    where incarnation = ${ref.incarnation} order by created_at desc, id limit ${redeemsShownMax}`;
  const [sums] = await sql<{ credits: string; spent: string }[]>`
    select coalesce(sum(credits), 0)::text as credits, coalesce(sum(redeemed_credits), 0)::text as spent
    from vote_redeems where incarnation = ${ref.incarnation}`;
  return { credits: sums?.credits ?? '0', spent: sums?.spent ?? '0', rows };
};

/** Redeems votes. *Ledger* when it resolves; `engine.deliverAdjustments` applies it to the hot store. */
export const redeemVotes = async (
  sql: Sql,
  request: RedeemRequest,
  once?: Once,
): Promise<OnceResult<RedeemOutcome>> => {
  const outcome = await runTransaction(sql, 'ledger.redeemVotes', (transaction) =>
    runOnce<RedeemOutcome>(transaction, once, {
      work: () => redeem(transaction, request),
      isDone: ({ kind }) => kind === 'redeemed',
    }),
  );
  return outcome.kind === 'redeemed' ? { ...outcome, credits: BigInt(outcome.credits) } : outcome;
};

const redeem = async (transaction: Transaction, request: RedeemRequest): Promise<RedeemOutcome> => {
  const { ref, kind, votes } = request;
  await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
  if ((await lockListing(transaction, ref.incarnation)) === null) return { kind: 'unknown_listing' };
  const tiers = await listTiers(transaction, kind);
  if (tiers.length === 0) return { kind: 'no_tiers' };
  const redeemable = await readRedeemable(transaction, ref);
  if (votes > redeemable.redeemable) return { kind: 'too_few', redeemable: redeemable.redeemable };
  const credits = computeValueCents(tiers.map(toTierRule), BigInt(votes), BigInt(redeemable.redeemed));
  const id = await writeRedeem(transaction, { ref, votes, credits, cycle: redeemable.cycle });
  const number = await voidOldest(transaction, { ref, votes, id, since: redeemable.since });
  const { incarnation } = ref;
  await writeAdjustments(transaction, [{ incarnation, upvotes: -votes }]);
  await writeVoidDeliveries(transaction, 'vote.voided', [
    { incarnation, number, reason: 'redeemed', upvotes: votes, downvotes: 0, beforeMs: null, single: false },
  ]);
  return { kind: 'redeemed', id, credits };
};

interface RedeemableVotes {
  /**
   * The last monthly reset. Timestamps are text: a Date would cut off microseconds and cannot be infinite.
   */
  readonly cycle: string;
  /** The last reset of any kind: older votes are void unless immutable. */
  readonly since: string;
  readonly redeemed: string;
  readonly redeemable: number;
}

/** Selects the votes that are not void without reading the months before the last reset, which is known. */
const selectLiveVotes = (transaction: Transaction, ref: EntityRef, since: string) => transaction`
  select * from (
    ${buildLiveVotes(transaction, ref, transaction`${since}::text::timestamptz`)}) as live where not void`;

const readRedeemable = async (transaction: Transaction, ref: EntityRef): Promise<RedeemableVotes> => {
  const [resets] = await transaction<{ cycle: string; since: string }[]>`
    select ${buildCycleStart(transaction, ref.incarnation)}::text as cycle,
      coalesce(max(at), '-infinity')::text as since
    from vote_resets where scope in ('all', ${String(ref.incarnation)}) and at < 'infinity'`;
  const { cycle, since } = resets as { cycle: string; since: string };
  const [sums] = await transaction<{ redeemed: string; redeemable: number }[]>`
    select greatest(0, coalesce(sum(case when upvote then 1 else -1 end), 0))::bigint as redeemable, (
      select coalesce(sum(votes), 0)::text from vote_redeems
      where incarnation = ${ref.incarnation} and cycle = ${cycle}::text::timestamptz) as redeemed
    from (${selectLiveVotes(transaction, ref, since)}) as live`;
  return { cycle, since, redeemed: sums?.redeemed ?? '0', redeemable: sums?.redeemable ?? 0 };
};

const writeRedeem = async (
  transaction: Transaction,
  { ref, votes, credits, cycle }: { ref: EntityRef; votes: number; credits: bigint; cycle: string },
): Promise<string> => {
  const id = await readValue<string>(transaction`
    insert into vote_redeems (id, incarnation, target_type, target_id, cycle, votes, credits)
    values (gen_random_uuid(), ${ref.incarnation}, ${ref.kind}, ${ref.id}, ${cycle}::text::timestamptz,
      ${votes}, ${String(credits)}::text::bigint)
    returning id`);
  return id as string;
};

/**
 * Makes the oldest upvotes void. The lock on the listing excludes other redeems, so there are enough. The
 * update joins on the key alone: with the target as well, the planner would compare all votes of one instant
 * with each other. Resolves to the highest number of these votes in the vote log.
 */
const voidOldest = async (
  transaction: Transaction,
  { ref, votes, id, since }: { ref: EntityRef; votes: number; id: string; since: string },
): Promise<number | null> => {
  const [row] = await transaction<{ count: number; number: number | null }[]>`
    with redeemed as (
      update votes set void = true, void_reason = 'redeemed', voided_at = now(), credit_redeem = ${id}
      from (
        select itag, created_at from (${selectLiveVotes(transaction, ref, since)}) as live
        where upvote order by created_at, vote_num, itag limit ${votes}) as oldest
      where votes.itag = oldest.itag and votes.created_at = oldest.created_at
      returning log_number
    )
    select count(*) as count, max(log_number) as number from redeemed`;
  const { count, number } = row ?? { count: 0, number: null };
  if (count !== votes) throw new Error(`${count} votes of ${votes} could be redeemed`);
  return number;
};

export const createCredits = (sql: Sql) =>
  bindStorage('credits', sql, {
    tiers: listTiers,
    balance: readRedeemBalance,
    redeems: readRedeems,
    /** The caller flushes before and delivers the adjustment afterwards. */
    redeem: redeemVotes,
  });

/**
 * Redeems votes as credits: one SQL transaction per redeem, one at a time per listing.
 *
 * As for every decision about past votes (storage/ledger/adjust.ts), the caller flushes the outbox first
 * (`engine.waitForFlush`) and delivers the adjustment afterwards (`engine.deliverAdjustments`). Redeemed
 * votes become void, but their voters still have to wait as before. The hot store needs no list of these
 * voters, because nothing releases them: a reset excludes them (`findPinned`). So a redeem of any size is one
 * adjustment.
 */

import type { EntityRef } from '../../../engine/ids.ts';
import { computeValueCents } from '../../../engine/rules/credits.ts';
import { lockListing, writeAdjustments } from '../../ledger/adjustments.ts';
import { writeVoidDeliveries } from '../../ledger/webhook-deliveries.ts';
import { runTransaction, type Sql, type Transaction } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { locks } from '../../sql/locks.ts';
import { readValue } from '../../sql/rows.ts';
import { type Once, type OnceResult, runOnce } from '../shared/once.ts';
import {
  buildCycleStart,
  listTiers,
  type RedeemOutcome,
  type RedeemRequest,
  readRedeemBalance,
  readRedeems,
  toTierRule,
} from './credits.ts';
import { buildLiveVotes } from './voter-segments.ts';

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

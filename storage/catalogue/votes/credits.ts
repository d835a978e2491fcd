/**
 * Vote credits in SQL: the tiers, what a listing may still redeem, and its redeems.
 *
 * Tiers are the operator's data; only redeem.ts writes redeems. A redeem belongs to one incarnation of a
 * listing: a later listing with the same id has none.
 */
import type { EntityRef } from '../../../engine/ids.ts';
import type { CreditKind, CreditTier } from '../../../engine/rules/credits.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { hasRow } from '../../sql/rows.ts';

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
export const listTiers = (sql: Queryable, kind: CreditKind | null = null): Promise<readonly TierRow[]> =>
  sql<TierRow[]>`
    select id, target_type, position, votes, cents, created_at from vote_credit_tiers
    ${kind === null ? sql`` : sql`where target_type = ${kind}`}
    order by position, target_type, id`;

/** Converts a row of SQL to a tier as engine/rules/credits.ts computes with it. */
export const toTierRule = (row: TierRow): CreditTier => ({
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
export const buildCycleStart = (sql: Queryable, incarnation: number) => sql`(
  select coalesce(max(at), '-infinity') from vote_resets
  where reason = 'monthly_reset' and scope in ('all', ${String(incarnation)}))`;

/** Reads a listing's balance. `appliedSequence` is the last adjustment that the caller's totals contain. */
export const readRedeemBalance = async (
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
export const readRedeems = async (sql: Queryable, ref: EntityRef): Promise<Redeems> => {
  const rows = await sql<RedeemRow[]>`
    select id, credits::text, redeemed_credits::text, redeemed_at, created_at from vote_redeems
    where incarnation = ${ref.incarnation} order by created_at desc, id limit ${redeemsShownMax}`;
  const [sums] = await sql<{ credits: string; spent: string }[]>`
    select coalesce(sum(credits), 0)::text as credits, coalesce(sum(redeemed_credits), 0)::text as spent
    from vote_redeems where incarnation = ${ref.incarnation}`;
  return { credits: sums?.credits ?? '0', spent: sums?.spent ?? '0', rows };
};

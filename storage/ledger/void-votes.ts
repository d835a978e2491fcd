/**
 * Makes votes void, and makes void votes count again: their rows, the adjustments for the hot store, and what
 * webhooks report, in the caller's transaction.
 *
 * The same for a single vote and for a page of a plan (catalogue/operator/void-plans.ts). The hot store
 * follows when the adjustments are delivered; until then they stay open in SQL.
 */
import type { CastVote } from '../../engine/entity/items.ts';
import type { EntityRef } from '../../engine/ids.ts';
import { buildRows, type Queryable, type Sql, type Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { locks } from '../sql/locks.ts';
import { readFirst } from '../sql/rows.ts';
import { lockListing, writeAdjustments } from './adjustments.ts';
import { type VoidDecision, writeVoidDeliveries } from './webhook-deliveries.ts';

/** After a `redeemed` vote its voter still has to wait for the window. */
export type VoidReason = 'operator' | 'redeemed';
export type VoidOutcome =
  | { readonly kind: 'voided'; readonly target: EntityRef }
  | { readonly kind: 'already_void' | 'unknown_vote' };

/** The key that all votes of one request share. */
export interface RequestKey {
  readonly at_ms: number;
  readonly incarnation: number;
  readonly author: string;
}
/** A vote as the transaction found it after it had locked the listing. */
export interface FoundVote extends RequestKey {
  readonly itag: string;
  /** Text: a Date would cut off microseconds. */
  readonly created_at: string;
  readonly upvote: boolean;
  readonly log_number: number | null;
}

/** Builds the columns of `FoundVote`. */
export const buildFoundColumns = (sql: Queryable) => sql`
  votes.itag, votes.created_at::text as created_at,
  (extract(epoch from votes.created_at) * 1000)::bigint as at_ms,
  votes.incarnation, votes.author, votes.upvote, votes.log_number`;

export interface VoidChange {
  readonly reason: VoidReason;
  /** The plan that the votes belong to, `null` for none. */
  readonly plan: string | null;
  /** Whether their voters may vote again at once. */
  readonly releases: boolean;
}

/** Makes votes void that are not. The caller has locked their listings, which exist. */
export const voidVotes = async (
  transaction: Transaction,
  votes: readonly FoundVote[],
  { reason, plan, releases }: VoidChange,
): Promise<void> => {
  await transaction`
    update votes set void = true, void_reason = ${reason}, voided_at = now(), void_plan = ${plan},
      rejected = ${reason === 'operator'}
    from ${buildChosen(transaction, votes)}
    where votes.itag = chosen.itag and votes.created_at = chosen.created_at`;
  const waiting = releases ? await findWaiting(transaction, votes) : null;
  const listings = groupByListing(votes);
  const changes = listings.map(({ incarnation, upvotes, downvotes, own }) => ({
    incarnation,
    upvotes: -upvotes,
    downvotes: -downvotes,
    ...(waiting && { release: listCastVotes(own.filter((vote) => !waiting.has(toRequest(vote)))) }),
    ...(reason === 'redeemed' && { pinned: listCastVotes(own) }),
  }));
  await writeAdjustments(transaction, changes);
  const decisions = listings.map((listing) => ({ ...toDecision(listing, plan === null), reason }));
  await writeVoidDeliveries(transaction, 'vote.voided', decisions);
};

/**
 * Rejects votes that a reset or a redeem has made void: they count for their voters no more, and no total
 * changes.
 */
export const rejectVotes = async (
  transaction: Transaction,
  votes: readonly FoundVote[],
  plan: string | null,
): Promise<void> => {
  if (votes.length === 0) return;
  await transaction`
    update votes set rejected = true, void_plan = ${plan} from ${buildChosen(transaction, votes)}
    where votes.itag = chosen.itag and votes.created_at = chosen.created_at`;
};

/** Takes a plan's decision back. Votes that a reset or a redeem has made void stay so: no total changes. */
export const clearRejections = async (
  transaction: Transaction,
  votes: readonly FoundVote[],
): Promise<void> => {
  if (votes.length === 0) return;
  await transaction`
    update votes set rejected = false, void_plan = null, void = void and void_reason <> 'operator',
      void_reason = case void_reason when 'operator' then '' else void_reason end,
      voided_at = case void_reason when 'operator' then null else voided_at end
    from ${buildChosen(transaction, votes)}
    where votes.itag = chosen.itag and votes.created_at = chosen.created_at`;
};

/**
 * Makes votes count again that a plan voided. Their voters wait no longer than before. The caller has locked
 * their listings, which exist.
 */
export const restoreVotes = async (transaction: Transaction, votes: readonly FoundVote[]): Promise<void> => {
  await clearRejections(transaction, votes);
  const listings = groupByListing(votes);
  const changes = listings.map(({ incarnation, upvotes, downvotes }) => ({
    incarnation,
    upvotes,
    downvotes,
  }));
  await writeAdjustments(transaction, changes);
  const decisions = listings.map((listing) => ({
    ...toDecision(listing, false),
    reason: 'operator' as const,
  }));
  await writeVoidDeliveries(transaction, 'vote.restored', decisions);
};

/** Selects rows by their whole key. A search by the itag alone would visit every partition. */
const buildChosen = (transaction: Transaction, votes: readonly FoundVote[]) => transaction`
  ${buildRows(transaction, votes, { itag: 'uuid', created_at: 'timestamptz' })} as chosen (itag, created_at)`;

const toRequest = ({ incarnation, author, at_ms }: RequestKey): string => `${incarnation} ${at_ms} ${author}`;

/**
 * Finds the requests whose voters have to wait, because another vote of the request counts or is pinned.
 * `offset 0` makes SQL look up each request's votes by the index of their author.
 */
const findWaiting = async (transaction: Transaction, votes: readonly FoundVote[]): Promise<Set<string>> => {
  const rows = await transaction<RequestKey[]>`
    select ${buildFoundColumns(transaction)}
    from ${buildChosen(transaction, votes)}
    join votes on votes.itag = chosen.itag and votes.created_at = chosen.created_at
    cross join lateral (
      select from vote_rows as other
      where other.author = votes.author and other.target_type || '' = votes.target_type
        and other.target_id = votes.target_id and other.created_at = votes.created_at
        and other.incarnation = votes.incarnation and other.itag <> votes.itag
        and (not other.void or other.holds)
      offset 0) as waiting`;
  return new Set(rows.map(toRequest));
};

interface ListingVotes {
  readonly incarnation: number;
  readonly upvotes: number;
  readonly downvotes: number;
  readonly own: readonly FoundVote[];
}

const groupByListing = (votes: readonly FoundVote[]): readonly ListingVotes[] =>
  [...Map.groupBy(votes, ({ incarnation }) => incarnation)].map(([incarnation, own]) => {
    const upvotes = own.filter(({ upvote }) => upvote).length;
    return { incarnation, upvotes, downvotes: own.length - upvotes, own };
  });

/** Lists the cast votes: each request once. */
const listCastVotes = (votes: readonly FoundVote[]): readonly CastVote[] =>
  [...new Map(votes.map((vote) => [toRequest(vote), vote])).values()].map(({ author, at_ms }) => ({
    user: author,
    atMs: at_ms,
  }));

const toDecision = (
  { incarnation, upvotes, downvotes, own }: ListingVotes,
  single: boolean,
): Omit<VoidDecision, 'reason'> => {
  const numbers = own.flatMap(({ log_number }) => log_number ?? []);
  const number = numbers.length === 0 ? null : Math.max(...numbers);
  return { incarnation, upvotes, downvotes, number, beforeMs: null, single, isRepeatable: !single };
};

type CheckedVote = FoundVote & { readonly void: boolean; readonly rejected: boolean };
const findVote = (sql: Queryable, itag: string) =>
  readFirst(sql<CheckedVote[]>`
    select ${buildFoundColumns(sql)}, void, rejected from vote_rows as votes where itag = ${itag}`);

/**
 * Voids one vote, or rejects it if something else made it void. *Ledger* when it resolves;
 * `engine.deliverAdjustments` applies it to the hot store. Rejects with a `StorageError`.
 */
export const voidVote = (sql: Sql, itag: string, reason: VoidReason): Promise<VoidOutcome> =>
  asStorage('ledger.voidVote', () =>
    sql.begin(async (transaction): Promise<VoidOutcome> => {
      await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
      const unlocked = await findVote(transaction, itag);
      if (!unlocked) return { kind: 'unknown_vote' };
      const target = await lockListing(transaction, unlocked.incarnation);
      const vote = await findVote(transaction, itag);
      if (!vote || !target) return { kind: 'already_void' };
      if (vote.void) {
        if (reason === 'operator' && !vote.rejected) await rejectVotes(transaction, [vote], null);
        return { kind: 'already_void' };
      }
      await voidVotes(transaction, [vote], { reason, plan: null, releases: reason !== 'redeemed' });
      return { kind: 'voided', target };
    }),
  );

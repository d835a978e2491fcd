/**
 * Changes past votes of whole listings: a reset, a deletion. Each change is one SQL transaction that writes
 * adjustments for the hot store; void-votes.ts voids single votes in the same way.
 *
 * The caller first flushes the outbox (`engine.waitForFlush`), so that all votes concerned have rows, and
 * afterwards delivers the adjustments (`engine.deliverAdjustments`). A crash in between loses nothing:
 * adjustments stay open until they are delivered.
 */
import type { EntityRef, Incarnation, Target } from '../../engine/ids.ts';
import type { Queryable, Sql, Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { locks } from '../sql/locks.ts';
import { findIncarnation, lockListing, writeAdjustments, writeForget } from './adjustments.ts';
import type { RequestKey } from './void-votes.ts';
import { writeVoidDeliveries } from './webhook-deliveries.ts';

export interface VoteReset {
  /** All listings, or one. */
  readonly scope: 'all' | Incarnation;
  /** Votes before this time become void, except immutable ones. */
  readonly atMs: number;
  readonly reason: 'monthly_reset' | 'operator';
}

/** Pinned votes more than this many days before a reset are older than any vote window. */
const pinnedDaysMax = 62;

/**
 * A reset counts all votes it voids. The pool's statement timeout is meant for requests and too short for
 * that.
 */
const resetMsMax = 600_000;

interface AffectedListing {
  readonly incarnation: number;
  /** The highest number in the vote log of these votes. */
  readonly number: number | null;
  readonly upvotes: number;
  readonly downvotes: number;
}

const buildScopeCondition = (sql: Queryable, scope: VoteReset['scope']) =>
  scope === 'all' ? sql`true` : sql`votes.incarnation = ${scope}`;

/** Counts the votes that the reset voids now, per existing listing. */
const countAffected = (transaction: Transaction, reset: VoteReset): Promise<readonly AffectedListing[]> =>
  transaction<AffectedListing[]>`
    select votes.incarnation, count(*) filter (where votes.upvote) as upvotes,
      count(*) filter (where not votes.upvote) as downvotes, max(votes.log_number) as number
    from vote_rows as votes join totals on totals.incarnation = votes.incarnation
    where ${buildScopeCondition(transaction, reset.scope)} and not votes.void and not votes.immutable
      and votes.created_at < ${new Date(reset.atMs)}
    group by votes.incarnation order by votes.incarnation`;

/**
 * Finds the votes whose voter still has to wait after the reset: immutable ones that count, and redeemed
 * ones.
 */
const findPinned = (transaction: Transaction, reset: VoteReset): Promise<readonly RequestKey[]> =>
  transaction<RequestKey[]>`
    select distinct votes.incarnation, votes.author,
      (extract(epoch from votes.created_at) * 1000)::bigint as at_ms
    from vote_rows as votes join totals on totals.incarnation = votes.incarnation
    where ${buildScopeCondition(transaction, reset.scope)} and votes.created_at < ${new Date(reset.atMs)}
      and votes.created_at >= ${new Date(reset.atMs)}::timestamptz - make_interval(days => ${pinnedDaysMax})
      and (votes.void_reason = 'redeemed' or (votes.immutable and not votes.void))`;

/**
 * Voids all votes in scope before a time: writes one `vote_resets` row, and an adjustment for each listing
 * that had such votes. Work is proportional to the votes that become void. Repeating a reset does nothing.
 * Resolves to the number of listings changed, or -1 if this reset was made before. *Ledger* when it resolves.
 */
export const resetVotes = (sql: Sql, reset: VoteReset): Promise<number> =>
  asStorage('ledger.resetVotes', () =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('statement_timeout', ${String(resetMsMax)}, true)`;
      await transaction`select pg_advisory_xact_lock(${locks.votes})`;
      const affected = await countAffected(transaction, reset);
      const pinned = Map.groupBy(await findPinned(transaction, reset), (vote) => vote.incarnation);
      const inserted = await transaction`
        insert into vote_resets (scope, at, reason)
        values (${String(reset.scope)}, ${new Date(reset.atMs)}, ${reset.reason})
        on conflict do nothing returning at`;
      if (inserted.length === 0) return -1;
      const { atMs: beforeMs, reason } = reset;
      const changes = affected.map(({ incarnation, upvotes, downvotes }) => ({
        incarnation,
        upvotes: -upvotes,
        downvotes: -downvotes,
        releaseBeforeMs: beforeMs,
        pinned: (pinned.get(incarnation) ?? []).map(({ author, at_ms }) => ({ user: author, atMs: at_ms })),
      }));
      await writeAdjustments(transaction, changes);
      const decisions = affected.map((listing) => ({ ...listing, reason, beforeMs, single: false }));
      await writeVoidDeliveries(transaction, 'vote.voided', decisions);
      return affected.length;
    }),
  );

/** The catalogue table of a kind. */
export const listingTables = { bot: 'bots', server: 'servers', team: 'teams', pack: 'packs' } as const;

/**
 * Deletes a listing inside the caller's transaction: deletes its catalogue row and its totals row, voids all
 * its votes (including immutable ones and later arrivals), and writes the adjustment that makes the hot store
 * put a tombstone. The caller must first delete all rows that refer to the catalogue row. Resolves to the
 * deleted listing, `null` if there is none.
 */
export const deleteListing = async (transaction: Transaction, target: Target): Promise<EntityRef | null> => {
  const incarnation = await findIncarnation(transaction, target);
  const listing = incarnation === null ? null : await lockListing(transaction, incarnation);
  if (!listing) return null;
  await transaction`
    insert into vote_resets (scope, at, reason)
    values (${String(listing.incarnation)}, 'infinity', 'deleted') on conflict do nothing`;
  await writeForget(transaction, listing);
  await transaction`
    delete from ${transaction(listingTables[target.kind])} where incarnation = ${listing.incarnation}`;
  await transaction`delete from totals where incarnation = ${listing.incarnation}`;
  return listing;
};

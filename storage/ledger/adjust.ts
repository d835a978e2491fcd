/**
 * Decisions about past votes: void, reset, delete. Each is one SQL transaction that ends in adjustments.
 *
 * The caller has the outbox drained first (`engine.flushed`), so that the votes concerned have rows, and
 * delivers afterwards (`engine.deliver`); a crash in between loses nothing, since adjustments stay open until
 * heard. A vote counts once: what makes a vote row void takes it from the totals in the same transaction.
 * Called by the operator's side, jobs and the catalogue's deletions.
 */

import type { CastVote } from '../../engine/entity/items.ts';
import type { EntityKind, EntityRef, Incarnation } from '../../engine/ids.ts';
import type { Queryable, Sql, Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { lockListing, writeAdjustment, writeForget } from './adjustments.ts';
import { locks } from './locks.ts';

/** `redeemed` votes still hold their voter back; others do not. */
export type VoidReason = 'operator' | 'redeemed';
export type VoidOutcome =
  | { readonly kind: 'voided'; readonly target: EntityRef }
  | { readonly kind: 'already_void' | 'unknown_vote' };

interface FoundVoteRow {
  readonly incarnation: number;
  readonly author: string;
  readonly upvote: boolean;
  readonly void: boolean;
  readonly at_ms: number;
}

const findVote = async (sql: Queryable, itag: string): Promise<FoundVoteRow | undefined> => {
  const [vote] = await sql<FoundVoteRow[]>`
    select incarnation, author, upvote, void, (extract(epoch from created_at) * 1000)::bigint as at_ms
    from vote_rows where itag = ${itag}`;
  return vote;
};

/** Whether another vote of the same request still counts or was redeemed: then its voter stays held back. */
const isHoldingVoter = async (transaction: Transaction, itag: string): Promise<boolean> => {
  const others = await transaction`
    select from vote_rows as other join votes as mine
      on mine.author = other.author and mine.incarnation = other.incarnation
      and mine.target_type = other.target_type and mine.target_id = other.target_id
      and mine.created_at = other.created_at
    where mine.itag = ${itag} and other.itag <> ${itag}
      and (not other.void or other.void_reason = 'redeemed') limit 1`;
  return others.length > 0;
};

/** Voids one vote. Ledger when it resolves; the hot store hears of it through `engine.deliver`. */
export const voidVote = (sql: Sql, itag: string, reason: VoidReason): Promise<VoidOutcome> =>
  asStorage('ledger.voidVote', () =>
    sql.begin(async (transaction): Promise<VoidOutcome> => {
      await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
      const seen = await findVote(transaction, itag);
      if (!seen) return { kind: 'unknown_vote' };
      const target = await lockListing(transaction, seen.incarnation);
      const vote = await findVote(transaction, itag);
      if (!vote || vote.void || !target) return { kind: 'already_void' };
      await transaction`
        update votes set void = true, void_reason = ${reason}, voided_at = now() where itag = ${itag}`;
      const castVote: CastVote = { user: vote.author, atMs: vote.at_ms };
      const held = reason === 'redeemed' || (await isHoldingVoter(transaction, itag));
      await writeAdjustment(transaction, vote.incarnation, {
        upvotes: vote.upvote ? -1 : 0,
        downvotes: vote.upvote ? 0 : -1,
        ...(reason === 'redeemed' ? { hold: [castVote] } : {}),
        ...(held ? {} : { release: [castVote] }),
      });
      return { kind: 'voided', target };
    }),
  );

export interface VoteReset {
  /** All listings, or one. */
  readonly scope: 'all' | Incarnation;
  /** Votes before this instant become void, but for immutable ones. */
  readonly atMs: number;
  readonly reason: 'monthly_reset' | 'operator';
}

/** Held votes older than this before a reset are older than any window that may still be asked for. */
const heldDaysMax = 62;

/** A reset counts all votes it voids: the pool's limit is for requests, and would cut a big one. */
const resetMsMax = 600_000;

interface AffectedListing {
  readonly incarnation: number;
  readonly upvotes: number;
  readonly downvotes: number;
}
interface PinnedVote {
  readonly incarnation: number;
  readonly author: string;
  readonly at_ms: number;
}

const buildScopeCondition = (sql: Queryable, scope: VoteReset['scope']) =>
  scope === 'all' ? sql`true` : sql`votes.incarnation = ${scope}`;

/** Living listings with votes that the reset voids now, and how many. */
const countAffected = (transaction: Transaction, reset: VoteReset): Promise<readonly AffectedListing[]> =>
  transaction<AffectedListing[]>`
    select votes.incarnation, count(*) filter (where votes.upvote) as upvotes,
      count(*) filter (where not votes.upvote) as downvotes
    from vote_rows as votes join totals on totals.incarnation = votes.incarnation
    where ${buildScopeCondition(transaction, reset.scope)} and not votes.void and not votes.immutable
      and votes.created_at < ${new Date(reset.atMs)}
    group by votes.incarnation order by votes.incarnation`;

/** Votes that keep holding their voter back over the reset: immutable ones that count, and redeemed ones. */
const findPinned = (transaction: Transaction, reset: VoteReset): Promise<readonly PinnedVote[]> =>
  transaction<PinnedVote[]>`
    select distinct votes.incarnation, votes.author,
      (extract(epoch from votes.created_at) * 1000)::bigint as at_ms
    from vote_rows as votes join totals on totals.incarnation = votes.incarnation
    where ${buildScopeCondition(transaction, reset.scope)} and votes.created_at < ${new Date(reset.atMs)}
      and votes.created_at >= ${new Date(reset.atMs)}::timestamptz - make_interval(days => ${heldDaysMax})
      and (votes.void_reason = 'redeemed' or (votes.immutable and not votes.void))`;

/**
 * Voids all votes in scope before an instant: one row, and one adjustment per listing that had such votes.
 * Work is proportional to the votes that become void. Repeating the same reset does nothing. Resolves to the
 * number of listings changed, or -1 when this reset was made before.
 */
export const resetVotes = (sql: Sql, reset: VoteReset): Promise<number> =>
  asStorage('ledger.resetVotes', () =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('statement_timeout', ${String(resetMsMax)}, true)`;
      await transaction`select pg_advisory_xact_lock(${locks.votes})`;
      const affected = await countAffected(transaction, reset);
      const held = Map.groupBy(await findPinned(transaction, reset), (vote) => vote.incarnation);
      const made = await transaction`
        insert into vote_resets (scope, at, reason)
        values (${String(reset.scope)}, ${new Date(reset.atMs)}, ${reset.reason})
        on conflict do nothing returning at`;
      if (made.length === 0) return -1;
      for (const { incarnation, upvotes, downvotes } of affected) {
        const marks = held.get(incarnation) ?? [];
        await writeAdjustment(transaction, incarnation, {
          upvotes: -upvotes,
          downvotes: -downvotes,
          releaseBeforeMs: reset.atMs,
          hold: marks.map(({ author, at_ms }) => ({ user: author, atMs: at_ms })),
        });
      }
      return affected.length;
    }),
  );

const catalogueTables: Record<EntityKind, string> = {
  bot: 'bots',
  server: 'servers',
  team: 'teams',
  pack: 'packs',
};

/**
 * Deletes a listing inside the caller's transaction: catalogue row, totals row, all its votes void (also the
 * immutable ones and those still to come), and the order to the hot store to forget it. What refers to the
 * catalogue row is the caller's to delete, before. Resolves to what was deleted, `null` when there is no
 * such listing.
 */
export const deleteListing = async (
  transaction: Transaction,
  target: { readonly kind: EntityKind; readonly id: string },
): Promise<EntityRef | null> => {
  const [row] = await transaction<{ incarnation: number }[]>`
    select incarnation from totals where kind = ${target.kind} and entity_id = ${target.id}`;
  const listing = row ? await lockListing(transaction, row.incarnation) : null;
  if (!listing) return null;
  await transaction`
    insert into vote_resets (scope, at, reason)
    values (${String(listing.incarnation)}, 'infinity', 'deleted') on conflict do nothing`;
  await writeForget(transaction, listing);
  await transaction`
    delete from ${transaction(catalogueTables[target.kind])} where incarnation = ${listing.incarnation}`;
  await transaction`delete from totals where incarnation = ${listing.incarnation}`;
  return listing;
};

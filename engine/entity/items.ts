/**
 * The data that travels between the engine and the hot store: items, decisions, batches and replies. Types
 * only.
 *
 * An item asks for one change of one entity; the store answers each with a decision. The rules beside this
 * file, the engine and both hot stores share these types; the calls themselves are in `ports.ts`.
 */
import type { EntityRef, Shard } from '../ids.ts';
import type { LazyState } from './lazy-state.ts';
import type { Facts, PresenceStatus, Totals } from './state.ts';
import type { UptimeRules, VoteWindows } from './windows.ts';

/** A voter's vote named by its time: unique per (entity, user), since windows never overlap. */
export interface CastVote {
  readonly user: string;
  readonly atMs: number;
}

/** A place in a shard's history: which generation, which version. */
export interface ShardPosition {
  readonly generation: number;
  readonly version: number;
}
/** A place in a shard's history. Versions count while nothing is lost; marks tell pasts apart. */
export interface ShardVersion {
  readonly generation: number;
  readonly version: number;
  readonly chainHash: number;
}

/** What every item may carry beside its own fields. */
interface Repeatable {
  /**
   * The item was applied and confirmed there once, and the store lost it: count it again, unless the row that
   * the entity was initialised from since holds it already.
   */
  readonly lostAt?: ShardPosition;
}
/** Set-if-absent. Carries the SQL row; `row` is the (gen, ver) under which SQL last saw it. */
export interface InitItem {
  readonly kind: 'init';
  readonly target: EntityRef;
  readonly facts: Facts;
  readonly totals: Totals;
  readonly row: { readonly generation: number; readonly version: number };
  /**
   * The shard's generation before the row was read. In another one the item is refused as `absent`: the store
   * was lost meanwhile, and with it any trace of what was edited since the row was read.
   */
  readonly readUnder?: number;
}
/**
 * Votes of a listing the store does not know, from the ledger's rows: its voters wait on when its `init`
 * comes, which must come after. In another generation than `readUnder` it is refused as `absent`. A store
 * that knows the listing knows its voters better, and does nothing.
 */
export interface RememberItem {
  readonly kind: 'remember';
  readonly target: EntityRef;
  readonly readUnder: number;
  readonly cast: readonly CastVote[];
  /** These hold their voters back whatever was or will be released. */
  readonly hold: readonly CastVote[];
}
/** Only posted fields are present; the store merges. */
export interface StatsItem {
  readonly kind: 'stats';
  readonly target: EntityRef;
  readonly atMs: number;
  readonly servers?: string;
  readonly shards?: string;
  readonly users?: string;
  readonly shardList?: string;
  readonly status?: PresenceStatus;
}
/** A page view. `visitor` is a signed 64-bit integer in decimal (first 8 bytes of the keyed hash). */
export interface ClickItem {
  readonly kind: 'click';
  readonly target: EntityRef;
  readonly visitor: string;
}
export interface InviteItem {
  readonly kind: 'invite';
  readonly target: EntityRef;
}
/**
 * A request to vote. The producer makes time and itags, so that a resent batch yields the same rows;
 * the store uses as many itags as the window in force grants votes (`perUser`).
 */
export interface VoteItem {
  readonly kind: 'vote';
  readonly target: EntityRef;
  readonly user: string;
  readonly upvote: boolean;
  readonly atMs: number;
  readonly itags: readonly string[];
}
/** A decision of the ledger about past votes. Applied iff `sequence` is the state's `adjustment` + 1. */
export interface AdjustItem {
  readonly kind: 'adjust';
  readonly target: EntityRef;
  readonly sequence: number;
  /** Added to `upvotes` and `downvotes`; may be negative, never below 0 in sum. */
  readonly upvotes: number;
  readonly downvotes: number;
  /** All votes before this no longer hold their voter back; 0 leaves it as it is. It only grows. */
  readonly releaseBeforeMs: number;
  /**
   * These votes no longer hold their voter back. Marks of votes the store has swept are skipped, here and in
   * `hold`.
   */
  readonly release: readonly CastVote[];
  /** These votes hold their voter back whatever `releaseBeforeMs` says (void by redemption, or immutable). */
  readonly hold: readonly CastVote[];
}
export interface FactsItem {
  readonly kind: 'facts';
  readonly target: EntityRef;
  readonly facts: Facts;
  readonly atMs: number;
}
/**
 * Buries the incarnation: removes its state, its last votes, visitors and dirty mark, and leaves a tombstone.
 * Votes already in the outbox stay until settled: they were accepted, so they get their row (I11).
 */
export interface ForgetItem {
  readonly kind: 'forget';
  readonly target: EntityRef;
}
export type Item = (
  | InitItem
  | RememberItem
  | StatsItem
  | ClickItem
  | InviteItem
  | VoteItem
  | AdjustItem
  | FactsItem
  | ForgetItem
) &
  Repeatable;

/**
 * What the store decided about one item, in the order of the batch:
 * - `applied`: done (also an `init` of something already there, an `adjust`, `facts` or `forget` already
 *   applied);
 * - `voted`: accepted; `count` votes were added;
 * - `refused`: a vote that the rules forbid; `retryAtMs` is set for `wait` (else 0);
 * - `absent`: the store does not know this entity; send `init`;
 * - `forgotten`: this incarnation is dead, or a later one lives;
 * - `gap`: an `adjust` came out of order; deliver the earlier ones first;
 * - `behind`: an `init` whose SQL row is newer than the shard's (generation, version): take a new generation;
 * - `overflow`: a counter would pass 2^53 − 1; nothing was changed.
 */
export type Decision =
  | { readonly kind: 'applied' }
  | { readonly kind: 'voted'; readonly count: number }
  | { readonly kind: 'refused'; readonly reason: VoteRefusal; readonly retryAtMs: number }
  | { readonly kind: 'absent' | 'forgotten' | 'gap' | 'behind' | 'overflow' };
export type VoteRefusal = 'wait' | 'not_listed' | 'vote_banned' | 'clock_ahead' | 'clock_behind';

/** The sealed work of one shard for one call. `sequence` is dense per (producer, shard), from 1. */
export interface Batch {
  readonly shard: Shard;
  readonly producer: string;
  readonly sequence: number;
  readonly items: readonly Item[];
}

/**
 * The store's answer to one batch. All of a batch is applied, or none (I4).
 * - `applied`: now; `duplicate`: earlier, with this or a later sequence number. `decisions` are those of the
 *   time it was applied when it is the producer's newest, else `null`;
 * - `gap`: `lastSequence` + 1 was expected; nothing was changed;
 * - `uninitialised`: the shard has no generation (an emptied store); nothing was changed (I14).
 */
export interface BatchReply {
  readonly outcome: 'applied' | 'duplicate' | 'gap' | 'uninitialised';
  readonly lastSequence: number;
  /** The shard's version after the call. */
  readonly version: number;
  /** The mark of the shard's history after the call (`entity/history.ts`). */
  readonly chainHash: number;
  readonly generation: number;
  readonly decisions: readonly Decision[] | null;
  /**
   * In the order of the items: the state after the call of the newest listing that the batch names at the
   * item's address; `null` when that listing does not live.
   */
  readonly states: readonly (LazyState | null)[];
}

/** Rules the store applies while deciding; the same for all nodes of a fleet. */
export interface CommitRules {
  readonly windows: VoteWindows;
  readonly uptime: UptimeRules;
  readonly visitorsMax: number;
}

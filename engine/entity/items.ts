/**
 * The data exchanged between the engine and the hot store: items, decisions, batches and replies, and the
 * operator's settings by which the store decides. Types only.
 *
 * An item requests one change of one entity; the store answers each item with a decision. The rules beside
 * this file, the engine and both hot stores share these types; the calls themselves are in `ports.ts`.
 */
import type { EntityRef, Shard } from '../ids.ts';
import type { PostedFields } from './fields.ts';
import type { Facts, LazyState, PresenceStatus, Totals } from './state.ts';

/** A vote identified by voter and time: unique per entity, because windows never overlap. */
export interface CastVote {
  readonly user: string;
  readonly atMs: number;
}

/** A position in a shard's history. Versions compare only within one generation. */
export interface ShardPosition {
  readonly generation: number;
  readonly version: number;
}
/**
 * A position and the chain hash of all batches up to it. Equal positions with different chain hashes show
 * that a store lost data and used the version a second time.
 */
export interface ShardVersion extends ShardPosition {
  readonly chainHash: number;
}

/** What an item carries that the store lost; see `Repeatable`. */
export interface LostAt extends ShardPosition {
  readonly recounted?: readonly ShardPosition[];
  readonly copies?: readonly BatchNumber[];
}

/** A field that every item may have besides its own. */
interface Repeatable {
  /**
   * Set on an item that the store confirmed at this position and then lost. It counts again, unless the row
   * that the entity was initialised from since then includes it. `recounted`: where it counted again and was
   * lost again, in ascending order; rows in between need not include it. `copies`: the batches it was in
   * until now. If the store has one of them after all, because it fell back once more, it does not count.
   */
  readonly lostAt?: LostAt;
}
/** Initialises an entity from its SQL row if the store lacks it; `row` is the row's flushed position. */
export interface InitItem {
  readonly kind: 'init';
  readonly target: EntityRef;
  readonly facts: Facts;
  readonly totals: Totals;
  readonly row: { readonly generation: number; readonly version: number };
  /**
   * The shard's generation before the row was read. In another generation the store refuses the item as
   * `absent`: it lost its data meanwhile, and with it edits made since the row was read.
   */
  readonly readUnder?: number;
}
/**
 * Recent votes of a listing that the store does not know, from the ledger's rows. It must come before the
 * `init`, so that the voters keep waiting. In another generation than `readUnder` the store refuses it as
 * `absent`. A store that has the listing adds the votes that it lacks, and knows the others better.
 */
export interface RememberItem {
  readonly kind: 'remember';
  readonly target: EntityRef;
  readonly readUnder: number;
  readonly cast: readonly CastVote[];
  /** These make their voters wait whatever was or will be released. */
  readonly pinned: readonly CastVote[];
}
/** A stats post: only posted fields are present, and the store merges them. */
export interface StatsItem extends PostedFields {
  readonly kind: 'stats';
  readonly target: EntityRef;
  readonly atMs: number;
}
/** What a post says about one shard of a bot; absent fields keep their value. */
export interface PostedPart {
  /** From 0, below the shard count. */
  readonly id: number;
  readonly servers?: number | undefined;
  readonly users?: number | undefined;
  readonly status?: PresenceStatus | undefined;
}
/** A post of some shards of a bot, with distinct ids in ascending order. */
export interface PartsItem {
  readonly kind: 'parts';
  readonly target: EntityRef;
  readonly atMs: number;
  readonly shardCount: number;
  readonly parts: readonly PostedPart[];
  readonly cluster?: string | undefined;
  /**
   * The only part, 0, was posted without its id: it is that part if the store has parts of this shard count,
   * else the post is one of totals.
   */
  readonly orTotals?: boolean | undefined;
}
/** Marks parts of a bot that are stale or gone now. Repeating it changes nothing. */
export interface LivenessItem {
  readonly kind: 'liveness';
  readonly target: EntityRef;
}
/** A page view. `visitor` is a signed 64-bit integer in decimal: the first 8 bytes of the keyed hash. */
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
 * A request to vote. The producer sets time and itags, so that a resent batch yields the same rows. The store
 * uses as many itags as the window in force grants votes (`perUser`).
 */
export interface VoteItem extends CastVote {
  readonly kind: 'vote';
  readonly target: EntityRef;
  readonly upvote: boolean;
  readonly itags: readonly string[];
  /** Where it came from (rules/vote-origin.ts): at most 64 digits; absent if that is not kept. */
  readonly origin?: string | undefined;
  /** The `ref` of the link that led to it (rules/vote-origin.ts); absent for none. */
  readonly source?: string | undefined;
}
/** A decision of the ledger about past votes. Applied only if `sequence` is the state's `adjustment` + 1. */
export interface AdjustItem {
  readonly kind: 'adjust';
  readonly target: EntityRef;
  readonly sequence: number;
  /** Added to `upvotes` and `downvotes`; may be negative, but the totals never fall below 0. */
  readonly upvotes: number;
  readonly downvotes: number;
  /** Votes before this time no longer make their voter wait; 0 changes nothing. It only grows. */
  readonly releaseBeforeMs: number;
  /** These votes do not make their voter wait. The store skips those it has swept, here and in `pinned`. */
  readonly release: readonly CastVote[];
  /** These votes make their voter wait whatever `releaseBeforeMs` is (void by redemption, or immutable). */
  readonly pinned: readonly CastVote[];
}
export interface FactsItem {
  readonly kind: 'facts';
  readonly target: EntityRef;
  readonly facts: Facts;
  readonly atMs: number;
}
/**
 * Deletes the incarnation: removes its state, last votes, visitors and dirty flag, and leaves a tombstone.
 * Votes in the outbox stay until they are flushed: they were accepted, so they get their row (I11).
 */
export interface ForgetItem {
  readonly kind: 'forget';
  readonly target: EntityRef;
}
export type Item = (
  | InitItem
  | RememberItem
  | StatsItem
  | PartsItem
  | LivenessItem
  | ClickItem
  | InviteItem
  | VoteItem
  | AdjustItem
  | FactsItem
  | ForgetItem
) &
  Repeatable;

/**
 * The store's decision about one item:
 * - `applied`: done (also for an `init` of an entity that exists, and for an `adjust`, `facts` or `forget`
 *   that was applied before); `switched` says why the totals are those of another table of parts now;
 * - `voted`: accepted; `count` votes were added;
 * - either with `contained`: a lost item that the totals include already; nothing was added to them;
 * - `refused`: the rules forbid the vote; `retryAtMs` is set for `wait`, else 0;
 * - `absent`: the store does not know this entity; send `init`;
 * - `forgotten`: this incarnation is deleted, or a later one exists;
 * - `gap`: an `adjust` came out of order; deliver the earlier ones first;
 * - `behind`: the SQL row of an `init` is newer than the shard's (generation, version): take a new
 *   generation;
 * - `overflow`: a counter would pass 2^53 − 1; nothing was changed;
 * - `inconsistent`: the parts belong to a table that was replaced; they were not counted;
 * - `damaged`: the store cannot read a record that the item needs; nothing was changed.
 */
export type Decision =
  | { readonly kind: 'applied'; readonly switched?: PartsSwitch; readonly contained?: true }
  | { readonly kind: 'voted'; readonly count: number; readonly contained?: true }
  | { readonly kind: 'refused'; readonly reason: VoteRefusal; readonly retryAtMs: number }
  | { readonly kind: 'absent' | 'forgotten' | 'gap' | 'behind' | 'overflow' | 'inconsistent' | 'damaged' };
/**
 * Why a table of parts came into force: all its parts were seen, it had waited long enough, or the table
 * before it had no live part. `totals`: a post of totals ended the tables.
 */
export type PartsSwitch = 'complete' | 'time' | 'idle' | 'totals';
export type VoteRefusal = 'wait' | 'not_listed' | 'vote_banned' | 'clock_ahead' | 'clock_behind';

/** Identifies a batch of a shard. `sequence` is dense per (producer, shard), from 1; 0 is a query. */
export interface BatchNumber {
  readonly producer: string;
  readonly sequence: number;
}

/** The items of one shard in one call. */
export interface Batch extends BatchNumber {
  readonly shard: Shard;
  readonly items: readonly Item[];
}

/**
 * The store's reply to one batch. It applies all of a batch or nothing (I4).
 * - `applied`: now; `duplicate`: before, with this or a later sequence number. `decisions` are the original
 *   ones if the batch is the producer's newest, else `null`;
 * - `gap`: the store expected `lastSequence` + 1; nothing was changed;
 * - `uninitialised`: the shard has no generation (an emptied store); nothing was changed (I14).
 */
export interface BatchReply extends ShardVersion {
  readonly outcome: 'applied' | 'duplicate' | 'gap' | 'uninitialised';
  readonly lastSequence: number;
  readonly decisions: readonly Decision[] | null;
  /**
   * One state per item, after the call: that of the newest listing in the batch at the item's address; `null`
   * if the store does not have that listing.
   */
  readonly states: readonly (LazyState | null)[];
}

/** How long a voter waits, in ms, and how many votes a request grants. */
export interface VoteWindow {
  readonly waitMs: number;
  readonly perUser: number;
}
export interface VoteWindows {
  readonly standard: VoteWindow;
  readonly premium: VoteWindow;
  /** Friday 00:00 to Sunday 24:00 UTC, for entities that are not premium. */
  readonly weekend: VoteWindow;
}
export interface UptimeRules {
  readonly checkMs: number;
  /** A check passes when stats were posted at most this long before it. */
  readonly freshMs: number;
  /** Half-open intervals in which the whole fleet was down, oldest first. Checks inside do not count. */
  readonly downtimes: readonly { readonly fromMs: number; readonly toMs: number }[];
}
/** When parts of a bot stop counting, and when a table of them comes into force. */
export interface PartsRules {
  /** A part that was posted longer ago is stale: it counts, but the bot's status does not depend on it. */
  readonly staleMs: number;
  /** A part that was posted longer ago is gone: it no longer counts. */
  readonly goneMs: number;
  /** How long after its last new part a table comes into force without the missing ones. */
  readonly switchMs: number;
}

/** The settings by which the store decides; the same on all nodes of a fleet. */
export interface CommitRules {
  readonly windows: VoteWindows;
  readonly uptime: UptimeRules;
  readonly parts: PartsRules;
  readonly visitorsMax: number;
}

/**
 * The engine's public interface. Routes, jobs and operator commands call these functions and nothing below.
 *
 * Every function that changes a number promises *hot* when its promise resolves. Failures are `DomainError`s
 * that clients may see: `not_found`, `overloaded`, `deadline_passed`, `store_unavailable`, `draining` (the
 * last four carry `context.outcome`: `not_applied` or `unknown`).
 */
import type { PostedFields } from './entity/fields.ts';
import type { PartsItem, VoteRefusal, VoteWindow } from './entity/items.ts';
import type { HotState } from './entity/state.ts';
import type { EntityKind, EntityRef, Target } from './ids.ts';
import type { PartsReply } from './ports.ts';
import type { Note } from './tools/notes.ts';

/** What readers see: committed state only, with uptime computed up to now. */
export interface EntityView {
  readonly ref: EntityRef;
  readonly state: HotState;
}

/** What a watch reads: committed state without uptime up to now, and the generation of its version. */
export interface WatchedView extends EntityView {
  readonly generation: number;
}

/** A watched entity; close it to end the watch. */
export interface Watch {
  /** The committed state: at once if it is in memory. Rejects as `Engine.read` does. */
  read(): WatchedView | Promise<WatchedView>;
  close(): void;
}

/** Fields of one stats post; absent ones stay as they are. Integers as decimal strings. */
export interface StatsPost extends Omit<PostedFields, 'shardList'> {
  readonly shardList?: readonly string[];
}

/** What a stats post led to. */
export interface PostedStats extends EntityView {
  /** The bot's parts are forgotten: these totals took their place. */
  readonly endsParts: boolean;
}

/** A post of some shards of a bot, with distinct ids in ascending order, below `shardCount`. */
export type PartsPost = Pick<PartsItem, 'shardCount' | 'parts' | 'cluster' | 'orTotals'>;
/** A bot and a page of its current parts by id, as of one moment. */
export type PartsView = PartsReply;

export interface VoteRequest extends Target {
  readonly user: string;
  readonly upvote: boolean;
  /** Of `createOriginEncoder`; absent if origins of votes are not kept. */
  readonly origin?: string | undefined;
  /** The `ref` of the link that led to it; absent for none. */
  readonly source?: string | undefined;
}
export type VoteOutcome =
  | { readonly kind: 'voted'; readonly count: number }
  | { readonly kind: 'refused'; readonly reason: VoteRefusal; readonly waitMs: number };

/**
 * Whether a user may vote for an entity: the window in force now, the wait it leaves (`waitMs`, 0 if the user
 * may vote), and when the wait really ends (`freeAtMs`), since a shorter window may begin earlier. `closure`:
 * why the entity takes no votes of anybody; `null` if it does.
 */
export interface VoteStatus {
  readonly view: EntityView;
  readonly window: VoteWindow;
  readonly votedAtMs: number;
  readonly waitMs: number;
  readonly freeAtMs: number;
  readonly closure: Extract<VoteRefusal, 'vote_banned' | 'not_listed'> | null;
}

export interface EngineHealth {
  readonly ready: boolean;
  /** Whether every server of the hot store answers. */
  readonly hotStoreUp: boolean;
  /** Short messages for `/readyz`: what is wrong or degraded. */
  readonly notes: readonly Note[];
}

export interface Engine {
  /** The committed view: at once if the actor is live, otherwise a promise that activates it. */
  read(kind: EntityKind, id: string): EntityView | Promise<EntityView>;
  /**
   * Calls `onChanged` whenever the committed state of the entity may have changed, by any node: at once for
   * this node's changes, within half a second for others'. `onChanged` must return at once; it reads later.
   */
  watch(kind: EntityKind, id: string, onChanged: () => void): Watch;
  /** Merges a stats post. Resolves to the view that contains it. Hot. */
  postStats(botId: string, post: StatsPost): Promise<PostedStats>;
  /**
   * Merges a post of some shards. Resolves to the view that contains it; rejects with `shards_inconsistent`
   * if their table was replaced. Hot.
   */
  postParts(botId: string, post: PartsPost): Promise<EntityView>;
  /** Reads parts with ids from `fromId` on, at most `limit`, from the hot store. */
  readParts(botId: string, page: { readonly fromId: number; readonly limit: number }): Promise<PartsView>;
  /**
   * Judges which parts of the bots that this node flushes are live. For a job; nodes may do it at the same
   * time.
   */
  judgeParts(signal: AbortSignal): Promise<void>;
  /**
   * Counts a page view of an entity just read. Returns at once; the click joins the next call that a caller
   * waits for, or leaves after `limits.gatherUnawaitedMsMax`.
   */
  countClick(view: EntityView, clientAddress: string): void;
  /** Counts an invite click. Returns at once, like `countClick`. */
  countInvite(view: EntityView): void;
  /** Casts a vote; a refusal by the rules is an outcome, not an error. Hot. */
  vote(request: VoteRequest): Promise<VoteOutcome>;
  /** Reads a user's vote status from the hot store. */
  readVoteStatus(kind: EntityKind, id: string, user: string): Promise<VoteStatus>;
  /** Resolves when the votes that were hot before the call are in the ledger; rejects after 1 s. */
  waitForFlush(kind: EntityKind, id: string): Promise<void>;
  /**
   * Flushes the entity's votes within `limits.flushEarlyMs` instead of within the interval. Returns at once
   * and promises nothing.
   */
  flushEarly(kind: EntityKind, id: string): void;
  /** Sends the ledger's facts to the hot store, after an edit that counting depends on. Hot. */
  refreshFacts(kind: EntityKind, id: string): Promise<void>;
  /** Delivers this entity's open adjustments, after the ledger recorded some (void, delete, reset). Hot. */
  deliverAdjustments(kind: EntityKind, id: string): Promise<void>;
  /** Sends the votes that SQL has of a listing whose last votes the hot store lost. Hot. */
  restoreVoters(ref: EntityRef): Promise<void>;
  /**
   * To be called after this process did not run for a while: other nodes may have changed what it caches.
   * Reads then wait until the hot store has reported what changed, at most `limits.recheckMsMax`. Does
   * nothing on a node that shares its stores with no other.
   */
  suspectStale(): void;
  /** Whether changes wait for the hot store. Long work should then go on in smaller steps. */
  hasPendingChanges(): boolean;
  readHealth(): EngineHealth;
  /**
   * Compares generations, publishes missing ones and starts the flusher. Throws `StoresDisagree`, with a
   * message for the operator, if the stores contradict each other.
   */
  start(): Promise<void>;
  /**
   * Refuses new work, answers what is in flight and flushes the backlog to the ledger. Resolves by the
   * monotonic `deadlineMs`, to the number of changes that the hot store had not confirmed by then: page views
   * that it refused wait until then.
   */
  drain(deadlineMs: number): Promise<number>;
}

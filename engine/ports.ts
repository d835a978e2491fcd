/**
 * The engine's doors to the outside: the hot store, the ledger, the clock. Types only.
 *
 * Words used for durability, here and in all doc comments:
 * - *applied*: in the answering store's memory, may be lost with it;
 * - *hot*: as durable as the hot store promises (embedded, or Redis `appendfsync always`: synced to disk);
 * - *ledger*: committed in SQL.
 *
 * The hot store decides every fact that can conflict; the ledger keeps history. An adapter owns its
 * connection, its retries on redirects and its encoding; it never retries a `commit` by itself.
 */
import type { HeldState } from './entity/held.ts';
import type { Facts, HotState, PresenceStatus, Totals } from './entity/state.ts';
import type { UptimeRules, VoteWindows } from './entity/windows.ts';
import type { EntityKind, EntityRef, Incarnation, Shard } from './ids.ts';

/** Time, and the only timers the engine uses. A virtual clock drives the simulation. */
export interface Clock {
  /** Wall time, ms since the epoch. */
  nowMs(): number;
  /** Monotonic time in ms, for deadlines and durations. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`. Returns a cancel function. Never keeps the process alive alone. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` at the end of the current event-loop tick. */
  endOfTick(task: () => void): void;
}

/* ------------------------------------------------------------------ items */

/** A voter's vote named by its time: unique per (entity, user), since windows never overlap. */
export interface VoteMark {
  readonly user: string;
  readonly atMs: number;
}

/** A place in a shard's history: which generation, which version. */
export interface Place {
  readonly generation: number;
  readonly version: number;
}
/** What every item may carry beside its own fields. */
interface Repeatable {
  /**
   * The item was applied and confirmed there once, and the store lost it: count it again, unless the row that
   * the entity was initialised from since holds it already.
   */
  readonly lostAt?: Place;
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
  readonly cast: readonly VoteMark[];
  /** These hold their voters back whatever was or will be released. */
  readonly hold: readonly VoteMark[];
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
  /** These votes no longer hold their voter back. Here and in `hold`, marks of swept votes are skipped. */
  readonly release: readonly VoteMark[];
  /** These votes hold their voter back whatever `releaseBeforeMs` says (void by redemption, or immutable). */
  readonly hold: readonly VoteMark[];
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

/* -------------------------------------------------------------- decisions */

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
  readonly mark: number;
  readonly generation: number;
  readonly decisions: readonly Decision[] | null;
  /**
   * In the order of the items: the state after the call of the newest listing that the batch names at the
   * item's address; `null` when that listing does not live.
   */
  readonly states: readonly (HeldState | null)[];
}

/** Rules the store applies while deciding; the same for all nodes of a fleet. */
export interface CommitRules {
  readonly windows: VoteWindows;
  readonly uptime: UptimeRules;
  readonly visitorsMax: number;
}

/* -------------------------------------------------------------- hot store */

export interface LoadRequest {
  readonly kind: EntityKind;
  readonly id: string;
  /** Also read this user's last vote that still holds him back. */
  readonly voter?: string;
}
export type LoadReply =
  | { readonly outcome: 'absent'; readonly generation: number }
  /** The newest incarnation known is dead; a later one must come from SQL. */
  | { readonly outcome: 'forgotten'; readonly incarnation: Incarnation; readonly generation: number }
  | {
      readonly outcome: 'found';
      readonly ref: EntityRef;
      readonly state: HotState;
      readonly generation: number;
      /** Time of the voter's last vote that is not released, 0 for none, whatever the window is. */
      readonly votedAtMs: number;
    };

export interface DirtyEntity {
  readonly ref: EntityRef;
  readonly generation: number;
  readonly state: HotState;
}
export interface OutboxVote {
  /** The itag: also the outbox key. */
  readonly itag: string;
  readonly ref: EntityRef;
  readonly user: string;
  readonly upvote: boolean;
  readonly atMs: number;
  /** From 0 within one request. */
  readonly voteNumber: number;
}
/** A place in a shard's history. Versions count while nothing is lost; marks tell pasts apart. */
export interface ShardVersion {
  readonly generation: number;
  readonly version: number;
  readonly mark: number;
}
export interface Backlog {
  readonly entities: readonly DirtyEntity[];
  readonly votes: readonly OutboxVote[];
}
export interface BacklogSize {
  readonly entities: number;
  readonly votes: number;
}
/**
 * What was flushed: an entity leaves the dirty set iff its version is still the one flushed and the shard's
 * generation the one it was flushed under (a version alone may be given twice); else it goes to the end of
 * the queue. `flushedVotes` is recorded in its state either way, without a new version. Entities
 * that are gone are skipped, and so are clean ones: another node has settled a later flush of them.
 */
export interface Settlement {
  readonly entities: readonly {
    readonly ref: EntityRef;
    readonly generation: number;
    readonly version: number;
    readonly flushedVotes: number;
  }[];
  readonly votes: readonly { readonly itag: string; readonly shard: Shard }[];
}

/** Whether the servers of a hot store answer, known without traffic. */
export interface Pulse {
  /** Words for each that does not answer now. */
  away(): readonly string[];
  /** When the one that has been silent for longest last answered, monotonic ms. */
  answeredMs(): number;
}

/**
 * The hot store. `commit` is the only verb that changes counted facts. Every rejection is a `StorageError`
 * whose `outcome` says whether the call had an effect (`not_applied`) or may have had one (`unknown`).
 */
export interface HotStore {
  /** What a confirmed commit survives, in words for the start message and `/readyz`. */
  readonly durability: string;
  /** A confirmed commit may be lost by a crash or failover of the store: the engine keeps what is young. */
  readonly mayLoseTail: boolean;
  /** Absent where the store is inside this process. */
  readonly pulse?: Pulse;
  /**
   * Batches of shards on different lanes may be in flight at once; within a lane there is one call at a time.
   */
  laneOf(shard: Shard): number;
  /** Generation per shard, 0 where the shard was never published. */
  generations(): Promise<readonly number[]>;
  /** Raises generations (never lowers one) and marks the shards' entities dirty. Hot. */
  publish(generations: readonly { readonly shard: Shard; readonly generation: number }[]): Promise<void>;
  load(requests: readonly LoadRequest[]): Promise<readonly LoadReply[]>;
  /**
   * At most one batch per shard, all of one lane. A batch numbered 0 is a question: it changes nothing, and
   * `lastSequence` of its `duplicate` is the answer. Replies in order. Hot when it resolves.
   */
  commit(batches: readonly Batch[], rules: CommitRules): Promise<readonly BatchReply[]>;
  /**
   * Per shard: entities dirty longest first, votes by itag. At most the given numbers; `shards` narrows to
   * those. Totals and votes of a shard are of one moment: an entity comes with all its votes that wait. Where
   * there is no room for all votes of a shard its entities stay behind, and where there is none for all its
   * entities, the votes of the others do. (Asked for votes only, or entities only, it gives just those.)
   */
  peek(limit: {
    readonly entities: number;
    readonly votes: number;
    readonly shards?: readonly Shard[];
  }): Promise<Backlog>;
  settled(settlement: Settlement): Promise<void>;
  /**
   * Empties shards that still stand where it is said, as if they had never been published; others stay. Who
   * visited and voted may be kept. Hot.
   */
  clear(places: readonly (Place & { readonly shard: Shard })[]): Promise<void>;
  backlog(): Promise<BacklogSize>;
  /** Where each shard asked for stands now (freshness between nodes). */
  versions(shards: readonly Shard[]): Promise<readonly ShardVersion[]>;
  /** Removes last votes older than the longest window and other expired entries, a bounded step. */
  sweep(nowMs: number): Promise<void>;
  close(): Promise<void>;
}

/* ----------------------------------------------------------------- ledger */

/** One entity as SQL knows it: what `init` needs. */
export interface LedgerEntity {
  readonly ref: EntityRef;
  readonly facts: Facts;
  readonly totals: Totals;
  readonly generation: number;
  readonly version: number;
}
/** A vote that still holds its voter back, as the ledger's rows tell. */
export interface LedgerVote extends VoteMark {
  /** It does so whatever is released. */
  readonly held: boolean;
}
/** Facts that were edited and may not have reached the hot store. */
export interface Edit {
  readonly target: { readonly kind: EntityKind; readonly id: string };
  readonly incarnation: Incarnation;
  readonly revision: number;
}
export interface Adjustment {
  /** Ledger id, ascending. */
  readonly id: number;
  readonly item: AdjustItem | ForgetItem;
}
/** One flush round, in one transaction. Entities and votes come sorted by the ledger itself. */
export interface FlushRound extends Backlog {}

/** Rejections are `StorageError`s; `reason: 'row'` means a row in the round can never be stored as it is. */
export interface Ledger {
  /** The living listing of each address, `null` for none. */
  find(
    targets: readonly { readonly kind: EntityKind; readonly id: string }[],
  ): Promise<readonly (LedgerEntity | null)[]>;
  /** Votes of a listing since an instant that hold their voters back, oldest first, after the one given. */
  voters(
    target: EntityRef,
    page: { readonly sinceMs: number; readonly after: VoteMark | null; readonly limit: number },
  ): Promise<readonly LedgerVote[]>;
  /** Edits of facts that nobody has said to be told, oldest first. */
  edits(limit: number): Promise<readonly Edit[]>;
  editsTold(edits: readonly Edit[]): Promise<void>;
  /**
   * Absolute totals guarded by (generation, version); votes by itag. Repeating it is harmless. Refused with
   * reason `outdated` when a newer generation of one of its shards was given out: what it carries may be lost
   * to the hot store by now. Ledger when it resolves.
   */
  flush(round: FlushRound): Promise<void>;
  /** Keeps one row that SQL refuses in the dead-letter table, with the reason. */
  bury(row: {
    readonly entity?: DirtyEntity;
    readonly vote?: OutboxVote;
    readonly reason: string;
  }): Promise<void>;
  /** Highest generation SQL has seen or given out, per shard; 0 where none. */
  generations(): Promise<readonly number[]>;
  /** The newest place flushed of each shard, (0, 0) where none is known. */
  flushedPlaces(): Promise<readonly Place[]>;
  /** Gives out a generation greater than any before and than `atLeast`. Ledger when it resolves. */
  nextGeneration(shards: readonly Shard[], atLeast: number): Promise<number>;
  /** Adjustments not yet settled, oldest first; `target` narrows to one listing. */
  adjustments(limit: number, target?: EntityRef): Promise<readonly Adjustment[]>;
  adjustmentsSettled(ids: readonly number[]): Promise<void>;
}

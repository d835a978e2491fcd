/**
 * The engine's ports, one per consumer: the hot store, the ledger, the clock. Types only; the data that is
 * committed through them is in `entity/items.ts`.
 *
 * Words used for durability, here and in all doc comments:
 * - *applied*: in the answering store's memory, may be lost with it;
 * - *hot*: as durable as the hot store promises (embedded, or Redis `appendfsync always`: synced to disk);
 * - *ledger*: committed in SQL.
 *
 * The hot store decides every fact that can conflict; the ledger keeps history. An adapter owns its
 * connection, its retries on redirects and its encoding; it never retries a `commit` by itself.
 */
import type {
  AdjustItem,
  Batch,
  BatchReply,
  CastVote,
  CommitRules,
  ForgetItem,
  ShardPosition,
  ShardVersion,
} from './entity/items.ts';
import type { Facts, HotState, Totals } from './entity/state.ts';
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

/* -------------------------------------------------------------- hot store */

export interface LoadRequest {
  readonly kind: EntityKind;
  readonly id: string;
  /** Also read this user's last vote that still makes them wait. */
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
export interface FlushReceipt {
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
  listSilent(): readonly string[];
  /** When the one that has been silent for longest last answered, monotonic ms. */
  getAnsweredMs(): number;
}

/** Reads of the hot store. They change nothing, and nothing is ever decided on what they return. */
export interface HotReader {
  load(requests: readonly LoadRequest[]): Promise<readonly LoadReply[]>;
  /** The current position of each shard asked for (freshness between nodes). */
  readVersions(shards: readonly Shard[]): Promise<readonly ShardVersion[]>;
}

/** The only way to change counted facts: `commit`, and what its callers must know of the store. */
export interface HotWriter {
  /** A confirmed commit may be lost by a crash or failover of the store: the engine keeps what is young. */
  readonly mayLoseTail: boolean;
  /** Absent where the store is inside this process. */
  readonly pulse?: Pulse;
  /**
   * Batches of shards on different lanes may be in flight at once; within a lane there is one call at a time.
   */
  toCommitQueue(shard: Shard): number;
  /**
   * At most one batch per shard, all of one lane. A batch numbered 0 is a question: it changes nothing, and
   * `lastSequence` of its `duplicate` is the answer. Replies in order. Hot when it resolves.
   */
  commit(batches: readonly Batch[], rules: CommitRules): Promise<readonly BatchReply[]>;
}

/** Where the flusher takes its work from, and reports what is flushed. */
export interface FlushSource {
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
  markFlushed(receipt: FlushReceipt): Promise<void>;
  countBacklog(): Promise<BacklogSize>;
}

/** The hot store's generations: one per shard, which says whether the shard's versions can be compared. */
export interface GenerationStore {
  /** Generation per shard, 0 where the shard was never published. */
  readGenerations(): Promise<readonly number[]>;
  /** Raises generations (never lowers one) and marks the shards' entities dirty. Hot. */
  publish(generations: readonly { readonly shard: Shard; readonly generation: number }[]): Promise<void>;
  /**
   * Empties shards that are still at the given position, as if they had never been published; others stay.
   * Visitors and votes may be kept. Hot.
   */
  clear(places: readonly (ShardPosition & { readonly shard: Shard })[]): Promise<void>;
}

/** What the process that opened the hot store does with it. */
export interface HotUpkeep {
  /** What a confirmed commit survives, in words for the start message and `/readyz`. */
  readonly durability: string;
  /** Removes last votes older than the longest window and other expired entries, a bounded step. */
  sweep(nowMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * The hot store as an adapter provides it; each part of the engine takes only the port it uses. Every
 * rejection is a `StorageError` whose `outcome` says whether the call had an effect (`not_applied`) or may
 * have had one (`unknown`).
 */
export interface HotStore extends HotReader, HotWriter, FlushSource, GenerationStore, HotUpkeep {}

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
export interface LedgerVote extends CastVote {
  /** It does so whatever is released. */
  readonly pinned: boolean;
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

/** Reads of the ledger: what an entity needs to become active. */
export interface LedgerReader {
  /** The living listing of each address, `null` for none. */
  find(
    targets: readonly { readonly kind: EntityKind; readonly id: string }[],
  ): Promise<readonly (LedgerEntity | null)[]>;
  /** Votes of a listing since an instant that hold their voters back, oldest first, after the one given. */
  listVoters(
    target: EntityRef,
    page: { readonly sinceMs: number; readonly after: CastVote | null; readonly limit: number },
  ): Promise<readonly LedgerVote[]>;
}

/** Edited facts on their way to the hot store. */
export interface EditLedger {
  /** Edits of facts that are not marked as delivered, oldest first. */
  listEdits(limit: number): Promise<readonly Edit[]>;
  markEditsSent(edits: readonly Edit[]): Promise<void>;
}

/** Decisions about past votes on their way to the hot store. */
export interface AdjustmentLedger {
  /** Adjustments not yet settled, oldest first; `target` narrows to one listing. */
  listAdjustments(limit: number, target?: EntityRef): Promise<readonly Adjustment[]>;
  markAdjustmentsDelivered(ids: readonly number[]): Promise<void>;
}

/** Where flush rounds go. */
export interface FlushSink {
  /**
   * Absolute totals guarded by (generation, version); votes by itag. Repeating it is harmless. Refused with
   * reason `outdated` when a newer generation of one of its shards was given out: what it carries may be lost
   * to the hot store by now. Ledger when it resolves.
   */
  flush(round: FlushRound): Promise<void>;
  /** Keeps one row that SQL refuses in the dead-letter table, with the reason. */
  writeDeadLetter(row: {
    readonly entity?: DirtyEntity;
    readonly vote?: OutboxVote;
    readonly reason: string;
  }): Promise<void>;
}

/** The ledger's side of generations: it alone gives new ones out. */
export interface GenerationLedger {
  /** Highest generation SQL has seen or given out, per shard; 0 where none. */
  readGenerations(): Promise<readonly number[]>;
  /** The newest place flushed of each shard, (0, 0) where none is known. */
  readFlushedPositions(): Promise<readonly ShardPosition[]>;
  /** Gives out a generation greater than any before and than `atLeast`. Ledger when it resolves. */
  takeGeneration(shards: readonly Shard[], atLeast: number): Promise<number>;
}

/**
 * The ledger as `storage/` provides it; each part of the engine takes only the port it uses. Rejections are
 * `StorageError`s; `reason: 'row'` means a row in the round can never be stored as it is.
 */
export interface Ledger extends LedgerReader, EditLedger, AdjustmentLedger, FlushSink, GenerationLedger {}

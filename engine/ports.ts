/**
 * The engine's ports, one per consumer: the hot store, the ledger, the clock, the metrics. Types only; the
 * data that is committed through them is in `entity/items.ts`.
 *
 * Durability terms, here and in all doc comments:
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
  PartsSwitch,
  ShardPosition,
  ShardVersion,
  VoteItem,
} from './entity/items.ts';
import type { Facts, HotState, Part, Totals } from './entity/state.ts';
import type { EntityAddress, EntityRef, Incarnation, Shard, Target } from './ids.ts';
import type { Note } from './tools/notes.ts';

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

export interface LoadRequest extends Target {
  /** Also reads this user's last vote that still makes them wait. */
  readonly voter?: string;
}
export type LoadReply =
  | { readonly outcome: 'absent'; readonly generation: number }
  /** The store has a record of it, or of the voter, that it cannot read. */
  | { readonly outcome: 'damaged'; readonly generation: number }
  /** The newest known incarnation is deleted (a tombstone); a later one must come from SQL. */
  | { readonly outcome: 'forgotten'; readonly incarnation: Incarnation; readonly generation: number }
  | {
      readonly outcome: 'found';
      readonly ref: EntityRef;
      readonly state: HotState;
      readonly generation: number;
      /** Time of the voter's last vote that is not released, whatever the window; 0 for none. */
      readonly votedAtMs: number;
    };

export interface DirtyEntity {
  readonly ref: EntityRef;
  readonly generation: number;
  readonly state: HotState;
}
export interface OutboxVote extends Pick<VoteItem, 'user' | 'upvote' | 'atMs' | 'origin' | 'source'> {
  /** The itag: also the outbox key. */
  readonly itag: string;
  readonly ref: EntityRef;
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
 * What was flushed. An entity leaves the dirty set if its version and its shard's generation are still those
 * that were flushed (a version alone may be used twice); otherwise it goes to the end of the dirty queue.
 * Either way the store records `flushedVotes` in its state, without a new version. The store skips deleted
 * entities, and clean ones: another node has already acknowledged a later flush of them.
 */
export interface FlushReceipt {
  readonly entities: readonly (ShardPosition & {
    readonly ref: EntityRef;
    readonly flushedVotes: number;
  })[];
  readonly votes: readonly { readonly itag: string; readonly shard: Shard }[];
}

/** Whether the servers of a hot store answer, or its disk has room, as known without sending anything. */
export interface Pulse {
  /** One note for each server that does not answer now, or for a full disk. */
  listSilent(): readonly Note[];
  /** When the server that has been silent longest last answered, or could have, monotonic ms. */
  getAnsweredMs(): number;
  /** Whether a server was seen that may lose confirmed commits when it crashes or is replaced: for good. */
  mayLoseTail(): boolean;
}

/** Parts of a bot's current table, with ids from `fromId` on, at most `limit`. */
export interface PartsRequest {
  readonly id: string;
  readonly fromId: number;
  readonly limit: number;
}
/** A bot's state and parts as of one moment. `parts` is empty without a current table. */
export interface PartsReply {
  readonly state: HotState;
  /** By id; ids that were never posted are missing. */
  readonly parts: ReadonlyMap<number, Part>;
}

/** Reads of the hot store. They change nothing, and no decision about counted facts uses their results. */
export interface HotReader {
  load(requests: readonly LoadRequest[]): Promise<readonly LoadReply[]>;
  /** The current version of each given shard; the staleness poller compares them. */
  readVersions(shards: readonly Shard[]): Promise<readonly ShardVersion[]>;
  /** `null` if the store does not know the bot. */
  readParts(request: PartsRequest): Promise<PartsReply | null>;
  /** What changed in each shard since a known version, in the order given. */
  readChanges(known: readonly (ShardVersion & { readonly shard: Shard })[]): Promise<readonly ShardChanges[]>;
}

/** What changed in a shard since a known version. */
export interface ShardChanges {
  readonly now: ShardVersion;
  /**
   * The entities that changed, each with the version of its newest change. `null`: the store does not know,
   * because that version is not part of its history, or is too long ago; then any entity may have changed.
   */
  readonly changed: ReadonlyMap<EntityAddress, number> | null;
}

/** The only way to change counted facts: `commit`, and what its callers must know about the store. */
export interface HotWriter {
  /**
   * The store is a server whose newest confirmed commits may get lost, perhaps in a way that starts later
   * (`Pulse.mayLoseTail`). So the engine buffers the recent ones to resend them.
   */
  readonly mayLoseTail: boolean;
  /** Absent when the store runs inside this process. */
  readonly pulse?: Pulse;
  /**
   * The number of the shard's commit queue. Each queue has one call in flight at a time; calls of different
   * queues may overlap.
   */
  toCommitQueue(shard: Shard): number;
  /**
   * Commits batches of one commit queue, at most one per shard. When they are hot, resolves to one reply per
   * batch, in the same order. A batch with sequence number 0 changes nothing; it reads the number of the last
   * batch that the store has of the producer (a `duplicate` reply with `lastSequence`). No vote window of
   * `rules` is longer than `limits.voteBucketMs`.
   */
  commit(batches: readonly Batch[], rules: CommitRules): Promise<readonly BatchReply[]>;
}

/** Where the flusher reads its work from, and acknowledges what is flushed. */
export interface FlushSource {
  /**
   * Reads up to the given numbers of dirty entities (per shard: longest dirty first) and outbox votes (by
   * itag); `shards` limits the read to those. Totals and votes of a shard are a consistent snapshot: an
   * entity comes with all its waiting votes. If not all votes of a shard fit, its entities are left out; if
   * not all its entities fit, the votes of the missing ones are left out. A limit of 0 reads the other kind
   * only.
   */
  peek(limit: BacklogSize & { readonly shards?: readonly Shard[] }): Promise<Backlog>;
  /** Acknowledges a flush that is in the ledger; see `FlushReceipt`. */
  markFlushed(receipt: FlushReceipt): Promise<void>;
  countBacklog(): Promise<BacklogSize>;
}

/** The hot store's generations, one per shard. Versions of a shard compare only within one generation. */
export interface GenerationStore {
  /** Generation per shard, 0 for a shard that was never published. */
  readGenerations(): Promise<readonly number[]>;
  /** Raises generations (never lowers one) and marks the shards' entities dirty. Hot. */
  publish(generations: readonly { readonly shard: Shard; readonly generation: number }[]): Promise<void>;
  /**
   * Empties the shards that are still at the given position, as if they had never been published; leaves the
   * others alone. The store may keep their visitors and votes. Hot.
   */
  clear(positions: readonly (ShardPosition & { readonly shard: Shard })[]): Promise<void>;
}

/** Maintenance by the process that opened the hot store. */
export interface HotUpkeep {
  /** Bots in the given shards whose parts are due to be judged by the store's clock, in any order. */
  listDueParts(shards: readonly Shard[], limit: number): Promise<readonly EntityRef[]>;
  /**
   * Removes last votes older than the longest window and other expired entries, in one bounded step. Resolves
   * to listings whose last votes somebody deleted in the store.
   */
  sweep(nowMs: number): Promise<readonly EntityRef[]>;
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
export interface LedgerEntity extends ShardPosition {
  readonly ref: EntityRef;
  readonly facts: Facts;
  readonly totals: Totals;
}
/** A vote that still makes its voter wait, according to the ledger's rows. */
export interface LedgerVote extends CastVote {
  /** Its voter waits for it even if earlier or later decisions release votes. */
  readonly pinned: boolean;
}
/** An edit of facts that may not have reached the hot store. */
export interface Edit {
  readonly target: Target;
  readonly incarnation: Incarnation;
  readonly revision: number;
}
export interface Adjustment {
  /** Ledger id, ascending. */
  readonly id: number;
  readonly item: AdjustItem | ForgetItem;
}
/** Reads of the ledger that activating an entity needs. */
export interface LedgerReader {
  /** The current listing of each target, in order; `null` for none. */
  find(targets: readonly Target[]): Promise<readonly (LedgerEntity | null)[]>;
  /** One page of a listing's votes since `sinceMs` that make their voters wait, oldest first. */
  listVoters(
    target: EntityRef,
    page: { readonly sinceMs: number; readonly after: CastVote | null; readonly limit: number },
  ): Promise<readonly LedgerVote[]>;
}

/** Edits of facts that the ledger must deliver to the hot store. */
export interface EditLedger {
  /** Edits that are not marked as delivered, oldest first. */
  listEdits(limit: number): Promise<readonly Edit[]>;
  markEditsSent(edits: readonly Edit[]): Promise<void>;
}

/** Which adjustments: those of one listing, and of deleted listings with its id; without a target all. */
export type AdjustmentScope = (Target | { readonly kind?: never; readonly id?: never }) & {
  /** Only those behind this id of the ledger. */
  readonly afterId?: number;
};

/** Decisions about past votes that the ledger must deliver to the hot store. */
export interface AdjustmentLedger {
  /** Adjustments that are not marked as delivered, oldest first. */
  listAdjustments(limit: number, scope?: AdjustmentScope): Promise<readonly Adjustment[]>;
  markAdjustmentsDelivered(ids: readonly number[]): Promise<void>;
}

/** Where flush rounds go. */
export interface FlushSink {
  /**
   * Writes absolute totals, guarded by (generation, version), and votes by itag, in any order and in one
   * transaction; repeating it is harmless.
   * Rejects with reason `outdated` if the ledger has issued a newer generation for one of the shards: the hot
   * store may have lost what the round carries. Ledger when it resolves.
   */
  flush(round: Backlog): Promise<void>;
  /** Stores one row that SQL refuses in the dead-letter table, with the reason. */
  writeDeadLetter(row: {
    readonly entity?: DirtyEntity;
    readonly vote?: OutboxVote;
    readonly reason: string;
  }): Promise<void>;
}

/** The ledger's side of generations: only the ledger issues new ones. */
export interface GenerationLedger {
  /** Highest generation per shard that SQL has seen or issued; 0 for none. */
  readGenerations(): Promise<readonly number[]>;
  /** The newest flushed position of each shard, (0, 0) for none. */
  readFlushedPositions(): Promise<readonly ShardPosition[]>;
  /** Issues a generation greater than every earlier one and than `atLeast`. Ledger when it resolves. */
  takeGeneration(shards: readonly Shard[], atLeast: number): Promise<number>;
}

/**
 * The ledger as `storage/` provides it; each part of the engine takes only the port it uses. Rejections are
 * `StorageError`s; `reason: 'row'` means that a row of the round can never be stored as it is.
 */
export interface Ledger extends LedgerReader, EditLedger, AdjustmentLedger, FlushSink, GenerationLedger {}

/* ---------------------------------------------------------------- metrics */

/**
 * Counters and timings that the engine reports; the admin listener publishes them. Calls never throw and must
 * be fast: every batch makes some.
 */
export interface EngineMeters {
  recordCommit(items: number, milliseconds: number): void;
  recordCommitFailure(outcome: 'not_applied' | 'unknown'): void;
  recordPending(items: number): void;
  recordActors(live: number): void;
  recordFlush(entities: number, votes: number, milliseconds: number): void;
  recordFlushFailure(reason: string): void;
  recordBacklog(size: BacklogSize, oldestAgeMs: number): void;
  recordDeadLetters(rows: number): void;
  recordContinuityLoss(reason: string): void;
  /** Bytes in the retransmit buffer. */
  recordRetransmitBytes(bytes: number): void;
  /** Confirmed items that the store lost and that are resent. */
  recordResends(items: number): void;
  /**
   * Outcome of one resent item: counted, `merged` into a newer vote of the user, or its listing `deleted`.
   */
  recordResendOutcome(outcome: 'applied' | 'merged' | 'deleted'): void;
  /** One poll of the versions of `shards` shards; `moved` of them have changes of other nodes. */
  recordVersionPoll(shards: number, moved: number): void;
  /** Entities read from the hot store in one call. */
  recordLoads(entities: number): void;
  /** A table of parts came into force; `reason`: see `PartsSwitch`. */
  recordPartsSwitch(reason: PartsSwitch): void;
  /** Stale parts of the bots that this node judges, as of their last judgement. */
  recordStaleParts(parts: number): void;
}

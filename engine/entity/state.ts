/**
 * The plain data of one entity in the hot store, and its empty value. The totals are a table: fields.ts.
 *
 * Pure data: no clock, no I/O. Counters are safe integers ≥ 0. Values that bots post may exceed 2^53 and are
 * exact decimal strings. Times are milliseconds since the epoch; 0 is "never". The next post replaces most
 * states before any reader needs them, so a store may return them packed (`LazyState`).
 */
import type { PresenceStatus, Totals } from './fields.ts';

export { emptyTotals, type PresenceStatus, presenceStatuses, type Totals } from './fields.ts';

/**
 * The catalogue's data that counting depends on: people edit it in SQL, and `engine.refreshFacts` sends it. A
 * smaller revision never replaces a larger one.
 */
export interface Facts {
  /** From the catalogue row's revision counter and SQL's timeline; grows with every edit. */
  readonly revision: number;
  /** The entity is shown in lists, may be voted on, and its uptime is checked. */
  readonly listed: boolean;
  readonly voteBanned: boolean;
  /** End of the premium period, 0 when there is none. */
  readonly premiumUntilMs: number;
  /** Uptime checks before this do not count. 0 when not listed. */
  readonly listedSinceMs: number;
}

/** One shard of a bot, as its newest post says. */
export interface Part {
  /** When it was posted, by the hot store's clock. */
  readonly atMs: number;
  readonly servers: number;
  readonly users: number;
  readonly status: PresenceStatus;
  /** False when the store has marked it as stale. */
  readonly live: boolean;
  /** Name that the poster gave the group of processes that it belongs to, `''` for none. */
  readonly cluster: string;
}

/** The sums of all parts of one shard count, stored so that a post need not read every part. */
export interface PartsTable {
  readonly shardCount: number;
  /** When a part was last added: the first post of its newest part. */
  readonly sinceMs: number;
  /** Parts that the store has, live or stale. */
  readonly seen: number;
  readonly servers: number;
  readonly users: number;
  /** Live parts by status, in the order of `presenceStatuses`. */
  readonly live: readonly number[];
}

/** What the store knows of a bot that posts its shards one by one (`parts.ts`). */
export interface PartsState {
  /** The table whose sums are the bot's totals; `null` before the first one. */
  readonly current: PartsTable | null;
  /** A table that counts for nothing yet. */
  readonly building: PartsTable | null;
  /** Shard count of the table that `current` replaced, 0 for none. */
  readonly replaced: number;
  /** Before this time nothing becomes stale, gone or current by itself; `limits.counterMax` for never. */
  readonly dueMs: number;
}

/** The state of one entity in the hot store. */
export interface HotState extends Totals {
  readonly facts: Facts;
  /** `upvotes - downvotes` as last flushed to SQL (`approximate_votes` in replies). */
  readonly flushedVotes: number;
  /** The shard's version when this entity last changed. */
  readonly version: number;
  /** Absent unless the entity is a bot whose shards are posted one by one. Not part of the ledger. */
  readonly parts?: PartsState;
}

export const emptyFacts: Facts = Object.freeze({
  revision: 0,
  listed: false,
  voteBanned: false,
  premiumUntilMs: 0,
  listedSinceMs: 0,
});

export interface LazyState {
  readonly version: number;
  /** Upvotes minus downvotes. */
  readonly votes: number;
  readonly flushedVotes: number;
  /** The whole state; returns the same object each time. */
  read(): HotState;
}

/** Upvotes minus downvotes. */
export const computeVotes = ({ upvotes, downvotes }: Totals): number => upvotes - downvotes;

class LoadedState implements LazyState {
  readonly version: number;
  readonly votes: number;
  readonly flushedVotes: number;
  private readonly state: HotState;

  constructor(state: HotState) {
    this.version = state.version;
    this.votes = computeVotes(state);
    this.flushedVotes = state.flushedVotes;
    this.state = state;
  }

  read(): HotState {
    return this.state;
  }
}

/** Wraps a state that is already unpacked. */
export const toLazyState = (state: HotState): LazyState => new LoadedState(state);

/**
 * The plain data of one entity in the hot store, and its empty value.
 *
 * Pure data: no clock, no I/O. Counters are safe integers ≥ 0. Values that bots post may exceed 2^53
 * and are kept as decimal strings, to the digit. Times are milliseconds since the epoch; 0 is "never".
 */

export const presenceStatuses = ['online', 'idle', 'dnd', 'offline'] as const;
export type PresenceStatus = (typeof presenceStatuses)[number];

/**
 * What counting depends on but people edit. Sent by `engine.refresh`; a smaller revision never replaces a
 * larger.
 */
export interface Facts {
  /** From the catalogue row's revision counter and SQL's lineage; grows with every edit. */
  readonly revision: number;
  /** Shown in lists: may be voted on, and its uptime is checked. */
  readonly listed: boolean;
  readonly voteBanned: boolean;
  /** End of the premium period, 0 when there is none. */
  readonly premiumUntilMs: number;
  /** Uptime checks before this do not count. 0 when not listed. */
  readonly listedSinceMs: number;
}

/** The numbers of one entity. A new object per change: a committed state is never written to. */
export interface Totals {
  readonly clicks: number;
  readonly uniqueClicks: number;
  readonly inviteClicks: number;
  /** Non-void votes. */
  readonly upvotes: number;
  readonly downvotes: number;
  /** Unsigned integers up to 18446744073709552000 as decimal strings. */
  readonly servers: string;
  readonly shards: string;
  readonly users: string;
  /** Comma-joined decimal strings, `''` when empty. */
  readonly shardList: string;
  /** `''` until the first post. */
  readonly status: PresenceStatus | '';
  readonly lastStatsPostMs: number;
  /** Checks passed and checks made, folded up to `uptimeCheckedMs`. */
  readonly uptime: number;
  readonly totalUptime: number;
  readonly uptimeCheckedMs: number;
  /** Votes before this instant no longer hold their voter back (unless marked held). */
  readonly releasedBeforeMs: number;
  /** Sequence number of the last adjustment applied. Dense per incarnation, from 1. */
  readonly adjustment: number;
}

export interface HotState extends Totals {
  readonly facts: Facts;
  /** `upvotes - downvotes` as last flushed to SQL (`approximate_votes` on the wire). */
  readonly flushedVotes: number;
  /** The shard's version when this entity last changed. */
  readonly version: number;
}

export const emptyTotals: Totals = Object.freeze({
  clicks: 0,
  uniqueClicks: 0,
  inviteClicks: 0,
  upvotes: 0,
  downvotes: 0,
  servers: '0',
  shards: '0',
  users: '0',
  shardList: '',
  status: '',
  lastStatsPostMs: 0,
  uptime: 0,
  totalUptime: 0,
  uptimeCheckedMs: 0,
  releasedBeforeMs: 0,
  adjustment: 0,
});

export const emptyFacts: Facts = Object.freeze({
  revision: 0,
  listed: false,
  voteBanned: false,
  premiumUntilMs: 0,
  listedSinceMs: 0,
});

/**
 * Merges a stats post into an entity's totals.
 *
 * Pure. Absent fields keep their value; 0 is a value. All fields of one post become visible together. Uptime
 * must be folded before a post is merged, because the fold uses the status and the last post that were valid
 * until then. Called by `apply.ts`.
 */
import type { PresenceStatus, Totals } from './state.ts';

export interface StatsFields {
  readonly servers?: string;
  readonly shards?: string;
  readonly users?: string;
  readonly shardList?: string;
  readonly status?: PresenceStatus;
}

/** Returns the totals after a post at `postedMs`. The time of the last post never goes back. */
export const mergeStats = <State extends Totals>(
  state: State,
  post: StatsFields,
  postedMs: number,
): State => ({
  ...state,
  servers: post.servers ?? state.servers,
  shards: post.shards ?? state.shards,
  users: post.users ?? state.users,
  shardList: post.shardList ?? state.shardList,
  status: post.status ?? state.status,
  lastStatsPostMs: Math.max(state.lastStatsPostMs, postedMs),
});

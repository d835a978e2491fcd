/**
 * What a node reports about itself, and what `nodes list` and the live frames show; figures.ts measures,
 * live.ts makes the frames.
 */

import type { NodeCounts } from './counts.ts';

/** The figures of a node that reports none. `null`: nothing was measured since the last heartbeat. */
export const noFigures = {
  uptime_s: 0,
  requests_per_s: 0,
  /** Mean time of a commit to the hot store. */
  hot_store_ms: null as number | null,
  /** Mean time of a flush to SQL. */
  sql_ms: null as number | null,
  backlog_entities: 0,
  outbox_votes: 0,
  flush_lag_s: 0,
};
export type NodeFigures = Readonly<typeof noFigures>;

/** What `nodes list` shows of each node. */
export interface NodeStatus {
  readonly node: string;
  readonly version: string;
  readonly figures: NodeFigures;
}

/** Answered requests since the start of the node, by route. An index is one of `names`. */
export interface RequestCounts {
  readonly names: readonly string[];
  /** How many took how long, by `boundsMs` of metrics.ts. */
  getDurations(index: number): readonly number[];
  /** Answers with a status from 500. */
  countFailures(index: number): number;
}

/** One second of a node, for charts. */
export type LivePoint = Pick<
  LiveFrame,
  'at_ms' | 'requests_per_s' | 'failures_per_s' | 'p50_ms' | 'p99_ms' | 'hot_store_ms' | 'flush_lag_s'
>;

/** What an operator watches, once a second. Rates and times are `null` where nothing was measured. */
export interface LiveFrame extends NodeFigures {
  readonly at_ms: number;
  readonly node: string;
  readonly version: string;
  readonly ready: boolean;
  readonly notes: readonly string[];
  readonly failures_per_s: number;
  /** Of the last ten seconds, without requests that wait for something to happen. */
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
  readonly commits_per_s: number;
  readonly items_per_commit: number | null;
  readonly flushes_per_s: number;
  readonly pending_items: number;
  readonly actors: number;
  /** Since the start of the node. */
  readonly commit_failures: number;
  readonly flush_failures: number;
  readonly dead_letters: number;
  readonly job_failures: number;
  readonly webhooks: NodeCounts['webhooks'];
  readonly feed_connections: number;
  readonly memory_mb: number;
  readonly cpu_percent: number;
  /** The busiest routes of the last ten seconds. */
  readonly routes: readonly LiveRoute[];
  /** All nodes: this one as of now, the others as of their last heartbeats. */
  readonly nodes: readonly NodeStatus[];
}

export interface LiveRoute {
  readonly route: string;
  readonly requests_per_s: number;
  readonly failures_per_s: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
}

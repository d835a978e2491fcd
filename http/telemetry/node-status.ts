/**
 * What a node reports about itself, and what `nodes list` shows of each node. Types only; figures.ts
 * measures.
 */

/** `null`: nothing was measured since the last heartbeat. */
export type NodeFigures = {
  readonly uptime_s: number;
  readonly requests_per_s: number;
  /** Mean time of a commit to the hot store. */
  readonly hot_store_ms: number | null;
  /** Mean time of a flush to SQL. */
  readonly sql_ms: number | null;
  readonly backlog_entities: number;
  readonly outbox_votes: number;
  readonly flush_lag_s: number;
};

/** What `nodes list` shows of each node. */
export interface NodeStatus {
  readonly node: string;
  readonly version: string;
  readonly figures: NodeFigures;
}

/**
 * The main figures of a node, for its heartbeat (`status`, `nodes list`) and for the live frames (live.ts):
 * rates and means of what the metrics count.
 *
 * Readers compare the totals with those of their last look, so they do not disturb each other.
 */
import type { Clock } from '../../engine/ports.ts';
import type { NodeCounts } from './counts.ts';
import type { Metrics } from './metrics.ts';
import type { NodeFigures } from './node-status.ts';

/** What a node did since its start, as of one moment. */
export interface NodeTotals {
  readonly requests: number;
  readonly commits: Readonly<NodeCounts['commits']>;
  readonly flushes: Readonly<NodeCounts['flushes']>;
}

/** Copies the totals. */
export const readTotals = ({ requests, commits, flushes }: Readonly<NodeCounts>): NodeTotals => ({
  requests,
  commits: { ...commits },
  flushes: { ...flushes },
});

/** To one decimal. */
export const toTenths = (value: number): number => Math.round(value * 10) / 10;

/** The mean of `count` durations, `null` for none. */
export const computeMean = (sum: number, count: number): number | null =>
  count === 0 ? null : toTenths(sum / count);

/** Within this time of the last reading, a reading returns the same: it would measure too little. */
const readAgainMsMin = 1_000;

/** Between two readings of the totals, `seconds` apart; the rest as of now. */
export const computeFigures = (
  { backlog }: Readonly<NodeCounts>,
  { totals, last, seconds }: { totals: NodeTotals; last: NodeTotals; seconds: number },
): Omit<NodeFigures, 'uptime_s'> => ({
  requests_per_s: toTenths((totals.requests - last.requests) / seconds),
  hot_store_ms: computeMean(
    totals.commits.milliseconds - last.commits.milliseconds,
    totals.commits.calls - last.commits.calls,
  ),
  sql_ms: computeMean(
    totals.flushes.milliseconds - last.flushes.milliseconds,
    totals.flushes.rounds - last.flushes.rounds,
  ),
  backlog_entities: backlog.entities,
  outbox_votes: backlog.votes,
  flush_lag_s: toTenths(backlog.oldestAgeMs / 1_000),
});

/** Returns the metrics with a reader for heartbeats. */
export const watchFigures = (metrics: Metrics, clock: Pick<Clock, 'monotonicMs'>) => {
  const { counts } = metrics;
  const startedMs = clock.monotonicMs();
  let last = readTotals(counts);
  let readMs = startedMs;
  let figures: NodeFigures | null = null;
  /** The figures for a heartbeat. Rates and times are those since the last call, or of that one. */
  const read = (): NodeFigures => {
    const nowMs = clock.monotonicMs();
    if (figures !== null && nowMs - readMs < readAgainMsMin) return figures;
    const seconds = Math.max(0.001, (nowMs - readMs) / 1_000);
    const totals = readTotals(counts);
    const uptime_s = Math.round((nowMs - startedMs) / 1_000);
    figures = { uptime_s, ...computeFigures(counts, { totals, last, seconds }) };
    readMs = nowMs;
    last = totals;
    return figures;
  };
  return { metrics, startedMs, read };
};
export type WatchedFigures = ReturnType<typeof watchFigures>;

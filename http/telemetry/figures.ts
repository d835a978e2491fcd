/**
 * Counts what a node did and holds what it was last at, for its heartbeat (`status`, `nodes list`) and for
 * the live frames (live.ts).
 *
 * Listens beside the metrics; per request it costs one addition. Readers compare the totals with those of
 * their last look, so they do not disturb each other.
 */
import type { Clock } from '../../engine/ports.ts';
import type { Metrics } from './metrics.ts';
import type { NodeFigures, NodeLevels, NodeTotals } from './node-status.ts';

const noTotals: NodeTotals = {
  requests: 0,
  commits: 0,
  commitMs: 0,
  commitItems: 0,
  commitFailures: 0,
  flushes: 0,
  flushMs: 0,
  flushFailures: 0,
  deadLetters: 0,
  jobFailures: 0,
};
const noLevels: NodeLevels = {
  backlogEntities: 0,
  outboxVotes: 0,
  flushLagMs: 0,
  pendingItems: 0,
  actors: 0,
  webhooks: { pending: 0, healthy: 0, failing: 0, disabled: 0, lagMs: 0 },
};

/** What a watched node counts. Readers only read it. */
export interface WatchedFigures {
  readonly metrics: Metrics;
  readonly totals: Readonly<NodeTotals>;
  readonly levels: Readonly<NodeLevels>;
  /** Monotonic time of the start, ms. */
  readonly startedMs: number;
  /** The figures for a heartbeat. Rates and times are those since the last call, or of that one. */
  readonly read: () => NodeFigures;
}

/** To one decimal. */
export const toTenths = (value: number): number => Math.round(value * 10) / 10;

/** The mean of `count` durations, `null` for none. */
export const computeMean = (sum: number, count: number): number | null =>
  count === 0 ? null : toTenths(sum / count);

/** Within this time of the last reading, a reading returns the same: it would measure too little. */
const readAgainMsMin = 1_000;

/** Between two readings of the totals, `seconds` apart. */
export const computeFigures = ({
  totals,
  levels,
  last,
  seconds,
}: Pick<WatchedFigures, 'totals' | 'levels'> & {
  readonly last: NodeTotals;
  readonly seconds: number;
}): Omit<NodeFigures, 'uptime_s'> => ({
  requests_per_s: toTenths((totals.requests - last.requests) / seconds),
  hot_store_ms: computeMean(totals.commitMs - last.commitMs, totals.commits - last.commits),
  sql_ms: computeMean(totals.flushMs - last.flushMs, totals.flushes - last.flushes),
  backlog_entities: levels.backlogEntities,
  outbox_votes: levels.outboxVotes,
  flush_lag_s: toTenths(levels.flushLagMs / 1_000),
});

const createReader = (
  { totals, levels, startedMs }: Pick<WatchedFigures, 'totals' | 'levels' | 'startedMs'>,
  clock: Pick<Clock, 'monotonicMs'>,
): (() => NodeFigures) => {
  let last = { ...totals };
  let readMs = startedMs;
  let figures: NodeFigures | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (figures !== null && nowMs - readMs < readAgainMsMin) return figures;
    const seconds = Math.max(0.001, (nowMs - readMs) / 1_000);
    const uptime_s = Math.round((nowMs - startedMs) / 1_000);
    figures = { uptime_s, ...computeFigures({ totals, levels, last, seconds }) };
    readMs = nowMs;
    last = { ...totals };
    return figures;
  };
};

const watchEngine = (
  engine: Metrics['engine'],
  totals: NodeTotals,
  levels: NodeLevels,
): Metrics['engine'] => ({
  ...engine,
  recordCommit: (items, milliseconds) => {
    totals.commits += 1;
    totals.commitItems += items;
    totals.commitMs += milliseconds;
    engine.recordCommit(items, milliseconds);
  },
  recordCommitFailure: (outcome) => {
    totals.commitFailures += 1;
    engine.recordCommitFailure(outcome);
  },
  recordFlush: (entities, votes, milliseconds) => {
    totals.flushes += 1;
    totals.flushMs += milliseconds;
    engine.recordFlush(entities, votes, milliseconds);
  },
  recordFlushFailure: (reason) => {
    totals.flushFailures += 1;
    engine.recordFlushFailure(reason);
  },
  recordDeadLetters: (rows) => {
    totals.deadLetters += rows;
    engine.recordDeadLetters(rows);
  },
  recordBacklog: (size, oldestAgeMs) => {
    levels.backlogEntities = size.entities;
    levels.outboxVotes = size.votes;
    levels.flushLagMs = oldestAgeMs;
    engine.recordBacklog(size, oldestAgeMs);
  },
  recordPending: (items) => {
    levels.pendingItems = items;
    engine.recordPending(items);
  },
  recordActors: (live) => {
    levels.actors = live;
    engine.recordActors(live);
  },
});

/** Returns metrics that are also watched, what they count, and a reader for heartbeats. */
export const watchFigures = (metrics: Metrics, clock: Pick<Clock, 'monotonicMs'>): WatchedFigures => {
  const totals = { ...noTotals };
  const levels = { ...noLevels };
  const startedMs = clock.monotonicMs();
  const watched: Metrics = {
    ...metrics,
    engine: watchEngine(metrics.engine, totals, levels),
    requests: {
      ...metrics.requests,
      recordAnswer: (index, status, milliseconds) => {
        totals.requests += 1;
        metrics.requests.recordAnswer(index, status, milliseconds);
      },
    },
    jobs: {
      ...metrics.jobs,
      recordFailure: (job) => {
        totals.jobFailures += 1;
        metrics.jobs.recordFailure(job);
      },
    },
    webhooks: {
      ...metrics.webhooks,
      recordLevels: (webhooks) => {
        levels.webhooks = webhooks;
        metrics.webhooks.recordLevels(webhooks);
      },
    },
  };
  const read = createReader({ totals, levels, startedMs }, clock);
  return { metrics: watched, totals, levels, startedMs, read };
};

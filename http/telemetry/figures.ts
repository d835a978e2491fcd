/**
 * The figures of a node that its heartbeat carries, for `status` and `nodes list`: load, backlog, latencies.
 *
 * Listens beside the metrics; per request it costs one addition. Latencies and rates are those since the last
 * call of `read`, so one timer reads them. Created by the composition root.
 */
import type { Clock } from '../../engine/ports.ts';
import type { Metrics } from './metrics.ts';
import type { NodeFigures } from './node-status.ts';

interface Mean {
  add(milliseconds: number): void;
  /** The mean since the last call. */
  take(): number | null;
}

const createMean = (): Mean => {
  let [sum, count] = [0, 0];
  return {
    add: (milliseconds) => {
      sum += milliseconds;
      count += 1;
    },
    take: () => {
      const mean = count === 0 ? null : Math.round((sum / count) * 10) / 10;
      [sum, count] = [0, 0];
      return mean;
    },
  };
};

/** Returns metrics that are also watched, and the function that reads the figures. */
export const watchFigures = (
  metrics: Metrics,
  clock: Pick<Clock, 'monotonicMs'>,
): { readonly metrics: Metrics; readonly read: () => NodeFigures } => {
  const startedMs = clock.monotonicMs();
  const [commits, flushes] = [createMean(), createMean()];
  let requests = 0;
  let readMs = startedMs;
  let backlog = { entities: 0, votes: 0, lagMs: 0 };
  const { engine } = metrics;
  const watched: Metrics = {
    ...metrics,
    requests: {
      ...metrics.requests,
      recordAnswer: (index, status, milliseconds) => {
        requests += 1;
        metrics.requests.recordAnswer(index, status, milliseconds);
      },
    },
    engine: {
      ...engine,
      recordCommit: (items, milliseconds) => {
        commits.add(milliseconds);
        engine.recordCommit(items, milliseconds);
      },
      recordFlush: (entities, votes, milliseconds) => {
        flushes.add(milliseconds);
        engine.recordFlush(entities, votes, milliseconds);
      },
      recordBacklog: (size, oldestAgeMs) => {
        backlog = { ...size, lagMs: oldestAgeMs };
        engine.recordBacklog(size, oldestAgeMs);
      },
    },
  };
  const read = (): NodeFigures => {
    const nowMs = clock.monotonicMs();
    const seconds = Math.max(0.001, (nowMs - readMs) / 1_000);
    const figures = {
      uptime_s: Math.round((nowMs - startedMs) / 1_000),
      requests_per_s: Math.round((requests / seconds) * 10) / 10,
      hot_store_ms: commits.take(),
      sql_ms: flushes.take(),
      backlog_entities: backlog.entities,
      outbox_votes: backlog.votes,
      flush_lag_s: Math.round(backlog.lagMs / 100) / 10,
    };
    readMs = nowMs;
    requests = 0;
    return figures;
  };
  return { metrics: watched, read };
};

/**
 * What the process reports to Prometheus: requests by row, and everything the engine's meters tell.
 *
 * Owns the names of all metrics (docs/operating.md tells of most). What is called per request or per item
 * costs nanoseconds; prom-client's own metrics are used where a tick or a flush is the unit. Nothing here
 * throws into its callers. Served by routes/admin/health.ts.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { EngineMeters } from '../../engine/meters.ts';
import type { RequestMeters } from '../request/dispatch-context.ts';
import { type JobMeters, registerJobMeters } from './job-meters.ts';
import { type OutboundMeters, registerOutboundMeters } from './outbound-meters.ts';
import { registerTimings } from './timings.ts';

export interface Metrics {
  readonly engine: EngineMeters;
  readonly requests: RequestMeters;
  readonly jobs: JobMeters;
  readonly outside: OutboundMeters;
  /** How far this node's clock is ahead of the hot store's, ms; below 0 it is behind. */
  recordClockAhead(milliseconds: number): void;
  /** How many primaries of Redis may evict counters. */
  evicting(servers: number): void;
  /** Prometheus text. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** Statuses run up to this; rows are counted in one flat array. */
const statusesMax = 600;

const createRequestCounts = (registry: Registry, labels: readonly string[]): Uint32Array => {
  const counts = new Uint32Array(labels.length * statusesMax);
  new Counter({
    name: 'rollcall_http_requests_total',
    help: 'Requests answered, by row and status; 499 is a client that left.',
    labelNames: ['row', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      counts.forEach((count, slot) => {
        if (count === 0) return;
        const row = labels[Math.floor(slot / statusesMax)] as string;
        this.inc({ row, status: String(slot % statusesMax) }, count);
      });
    },
  });
  return counts;
};

const createRequestMeters = (registry: Registry, rowNames: readonly string[]): RequestMeters => {
  const labels = [...rowNames, 'none'];
  const counts = createRequestCounts(registry, labels);
  const timings = registerTimings(registry, {
    name: 'rollcall_http_request_seconds',
    help: 'From the request line read to the answer written, by row.',
    labelName: 'row',
    labels,
  });
  return {
    recordAnswer: (index, status, milliseconds) => {
      const label = index === -1 || index >= rowNames.length ? rowNames.length : index;
      const slot = label * statusesMax + status;
      counts[slot] = (counts[slot] as number) + 1;
      timings.observe(label, milliseconds);
    },
  };
};

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const sizeBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

const createBatchMeters = (registers: Registry[]) => {
  const items = new Histogram({
    name: 'rollcall_batch_items',
    help: 'Items per committed batch.',
    buckets: sizeBuckets,
    registers,
  });
  const commit = new Histogram({
    name: 'rollcall_batch_commit_seconds',
    help: 'From sealing a batch to its confirmation by the hot store.',
    buckets: secondsBuckets,
    registers,
  });
  const failures = new Counter({
    name: 'rollcall_commit_failures_total',
    help: 'Failed commits, by what is known of their outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const broken = new Counter({
    name: 'rollcall_gate_broken_total',
    help: 'Times the output gate of a shard broke, by reason.',
    labelNames: ['reason'],
    registers,
  });
  return {
    recordCommit: (count: number, milliseconds: number): void => {
      items.observe(count);
      commit.observe(milliseconds / 1_000);
    },
    recordCommitFailure: (outcome: string): void => failures.inc({ outcome }),
    recordContinuityLoss: (reason: string): void => broken.inc({ reason }),
    ...createRetransmitMeters(registers),
    ...createStalenessMeters(registers),
  };
};

const createRetransmitMeters = (registers: Registry[]) => {
  const bytes = new Gauge({
    name: 'rollcall_ring_bytes',
    help: 'Confirmed work kept in memory in case the hot store loses it.',
    registers,
  });
  const resent = new Counter({
    name: 'rollcall_ring_resent_items_total',
    help: 'Confirmed items that the hot store lost and that were sent again.',
    registers,
  });
  const healed = new Counter({
    name: 'rollcall_ring_healed_items_total',
    help: 'Lost items done with: counted again, merged into a newer vote, or of a listing that is gone.',
    labelNames: ['how'],
    registers,
  });
  return {
    recordRetransmitBytes: (kept: number): void => bytes.set(kept),
    recordResends: (items: number): void => resent.inc(items),
    recordResendOutcome: (how: string): void => healed.inc({ how }),
  };
};

const createStalenessMeters = (registers: Registry[]) => {
  const polled = new Counter({
    name: 'rollcall_freshness_shards_polled_total',
    help: 'Shards whose version was compared with the hot store.',
    registers,
  });
  const moved = new Counter({
    name: 'rollcall_freshness_shards_moved_total',
    help: 'Shards found changed by other nodes; what was cached of them was dropped.',
    registers,
  });
  return {
    recordVersionPoll: (shards: number, changed: number): void => {
      polled.inc(shards);
      moved.inc(changed);
    },
  };
};

const createFlushMeters = (registers: Registry[]) => {
  const time = new Histogram({
    name: 'rollcall_flush_seconds',
    help: 'Time of one flush round to SQL.',
    buckets: secondsBuckets,
    registers,
  });
  const rows = new Counter({
    name: 'rollcall_flushed_rows_total',
    help: 'Rows carried to SQL, by what they are.',
    labelNames: ['what'],
    registers,
  });
  const failures = new Counter({
    name: 'rollcall_flush_failures_total',
    help: 'Failed flush rounds, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const buried = new Counter({
    name: 'rollcall_dead_letters_total',
    help: 'Rows that SQL refused and that were put aside.',
    registers,
  });
  return {
    recordFlush: (entities: number, votes: number, milliseconds: number): void => {
      time.observe(milliseconds / 1_000);
      rows.inc({ what: 'entities' }, entities);
      rows.inc({ what: 'votes' }, votes);
    },
    recordFlushFailure: (reason: string): void => failures.inc({ reason }),
    recordDeadLetters: (count: number): void => buried.inc(count),
  };
};

const createLevelMeters = (registers: Registry[]) => {
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const pending = gauge('rollcall_pending_items', 'Items waiting in open batches and in flight.');
  const actors = gauge('rollcall_actors', 'Live actors.');
  const dirty = gauge('rollcall_backlog_entities', 'Entities changed since they were last flushed.');
  const outbox = gauge('rollcall_outbox_votes', 'Accepted votes not yet in SQL.');
  const lag = gauge('rollcall_flush_lag_seconds', 'Age of the oldest change that is not in SQL.');
  return {
    recordPending: (items: number): void => pending.set(items),
    recordActors: (live: number): void => actors.set(live),
    recordBacklog: (
      size: { readonly entities: number; readonly votes: number },
      oldestAgeMs: number,
    ): void => {
      dirty.set(size.entities);
      outbox.set(size.votes);
      lag.set(oldestAgeMs / 1_000);
    },
  };
};

const createClockMeter = (registers: Registry[]): ((milliseconds: number) => void) => {
  const ahead = new Gauge({
    name: 'rollcall_clock_ahead_seconds',
    help: "How far this node's clock is ahead of the hot store's; 0 where they are one.",
    registers,
  });
  return (milliseconds) => ahead.set(milliseconds / 1_000);
};

const evictionMeter = (registers: Registry[]): ((servers: number) => void) => {
  const evicting = new Gauge({
    name: 'rollcall_redis_evicting_servers',
    help: 'Primaries of Redis that may evict counters: set maxmemory-policy noeviction there.',
    registers,
  });
  return (servers) => evicting.set(servers);
};

/** Creates the registry and everything in it. `rowNames` in the order of the table. */
export const createMetrics = (rowNames: readonly string[]): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'rollcall_' });
  const gate = registerTimings(registry, {
    name: 'rollcall_gate_wait_seconds',
    help: 'How long an answer waited for its batch.',
    labelName: '',
    labels: [''],
  });
  return {
    engine: {
      ...createBatchMeters(registers),
      ...createFlushMeters(registers),
      ...createLevelMeters(registers),
      recordGateWait: (milliseconds) => gate.observe(0, milliseconds),
    },
    requests: createRequestMeters(registry, rowNames),
    jobs: registerJobMeters(registers),
    outside: registerOutboundMeters(registers),
    recordClockAhead: createClockMeter(registers),
    evicting: evictionMeter(registers),
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
};

/**
 * The Prometheus metrics of the process: requests by route, and all meters of the engine.
 *
 * Owns the names of all metrics (docs/operating.md lists them). Calls per request or per item cost
 * nanoseconds (timings.ts); prom-client's own metrics serve calls per batch, tick or flush. Nothing here
 * throws into its callers. Served by operator/health.ts.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { PartsSwitch } from '../../engine/entity/items.ts';
import type { StorageReason } from '../../engine/errors.ts';
import type { EngineMeters } from '../../engine/meters.ts';
import { type BoardAges, registerBoardAges } from './board-meters.ts';
import { type DirectoryMeters, registerDirectoryMeters } from './directory-meters.ts';
import { createFeedCounts, type FeedCounts, feedEvents, registerFeedMeters } from './feed-meters.ts';
import { type HistoryMeters, registerHistoryMeters } from './history-meters.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import { type JobMeters, registerJobMeters } from './job-meters.ts';
import { registerProcessMeters } from './loop-meters.ts';
import type { RequestCounts } from './node-status.ts';
import { type OutboundMeters, registerOutboundMeters } from './outbound-meters.ts';
import type { RequestMeters } from './request-meters.ts';
import { registerTimings } from './timings.ts';
import { registerWebhookMeters, type WebhookMeters } from './webhook-meters.ts';

export interface Metrics {
  readonly engine: EngineMeters;
  readonly requests: RequestMeters;
  readonly requestCounts: RequestCounts;
  readonly directory: DirectoryMeters;
  readonly jobs: JobMeters;
  readonly history: HistoryMeters;
  readonly outbound: OutboundMeters;
  readonly webhooks: WebhookMeters;
  readonly feed: FeedCounts;
  /** Records this node's clock minus the hot store's, ms. */
  recordClockAhead(milliseconds: number): void;
  /** From here on every scrape shows what `read` returns. */
  watchHealth(read: () => NodeHealth): void;
  /** From here on every scrape shows the age of these boards. */
  watchBoards(boards: BoardAges): void;
  /** Records how many Redis primaries may evict counters. */
  recordEvictingServers(servers: number): void;
  /** Renders all metrics in the Prometheus text format. */
  render(): Promise<string>;
  readonly contentType: string;
  readonly version: Version;
}

/** What runs here: the version of package.json, and the commit. */
export interface Version {
  readonly version: string;
  readonly commit: string;
}

const registerBuild = (registry: Registry, { version, commit }: Version): void => {
  new Gauge({
    name: 'rollcall_build_info',
    help: 'Always 1; the labels tell what runs here.',
    labelNames: ['version', 'commit', 'node'],
    registers: [registry],
  }).set({ version, commit, node: process.version }, 1);
};

/** Whether the node accepts traffic, and whether each of its stores answers. */
export interface NodeHealth {
  readonly ready: boolean;
  readonly hot: boolean;
  readonly sql: boolean;
  /** Redis primaries that may lose confirmed writes now, in a crash or a failover. */
  readonly weakServers: number;
}

/** Exclusive upper bound of HTTP statuses: the stride of the flat array of counts. */
const statusesMax = 600;
/** Shown for each route from the start, so that an alert sees the first one as an increase. */
const alertStatuses: ReadonlySet<number> = new Set([500, 503]);

const createRequestCounts = (registry: Registry, labels: readonly string[]): Uint32Array => {
  const counts = new Uint32Array(labels.length * statusesMax);
  new Counter({
    name: 'rollcall_http_requests_total',
    help: 'HTTP requests answered, by route and status; 499 means that the client disconnected.',
    labelNames: ['route', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      counts.forEach((count, slot) => {
        if (count === 0 && !alertStatuses.has(slot % statusesMax)) return;
        const route = labels[Math.floor(slot / statusesMax)] as string;
        this.inc({ route, status: String(slot % statusesMax) }, count);
      });
    },
  });
  return counts;
};

const createRequestMeters = (
  registry: Registry,
  routeNames: readonly string[],
): { readonly requests: RequestMeters; readonly requestCounts: RequestCounts } => {
  const labels = [...routeNames, 'none'];
  const counts = createRequestCounts(registry, labels);
  const timings = registerTimings(registry, {
    name: 'rollcall_http_request_duration_seconds',
    help: 'Time from reading the request line to writing the response, by route.',
    labelName: 'route',
    labels,
  });
  const requests: RequestMeters = {
    recordAnswer: (index, status, milliseconds) => {
      const label = index === -1 || index >= routeNames.length ? routeNames.length : index;
      const slot = label * statusesMax + status;
      counts[slot] = (counts[slot] as number) + 1;
      timings.observe(label, milliseconds);
    },
  };
  const countFailures = (index: number): number => {
    let failures = 0;
    for (let slot = index * statusesMax + 500; slot < (index + 1) * statusesMax; slot++)
      failures += counts[slot] as number;
    return failures;
  };
  return { requests, requestCounts: { names: labels, getDurations: timings.getCounts, countFailures } };
};

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const sizeBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

const continuityLosses = ['commits_lost', 'version_regressed', 'duplicate', 'gap', 'uninitialised'];

const createBatchMeters = (instruments: Instruments) => {
  const { createCounterBy, createHistogram } = instruments;
  const items = createHistogram('rollcall_batch_items', 'Items per committed batch.', sizeBuckets);
  const commit = createHistogram(
    'rollcall_batch_commit_duration_seconds',
    'Time from sealing a batch to its confirmation by the hot store.',
    secondsBuckets,
  );
  const failures = createCounterBy('outcome', ['not_applied', 'unknown'], {
    name: 'rollcall_commit_failures_total',
    help: 'Failed commits, by outcome: not_applied, or unknown.',
  });
  const broken = createCounterBy('reason', continuityLosses, {
    name: 'rollcall_continuity_losses_total',
    help: 'Times the hot store did not continue where the last confirmed batch of a shard ended, by reason.',
  });
  return {
    recordCommit: (count: number, milliseconds: number): void => {
      items.observe(count);
      commit.observe(milliseconds / 1_000);
    },
    recordCommitFailure: (outcome: string): void => failures.inc({ outcome }),
    recordContinuityLoss: (reason: string): void => broken.inc({ reason }),
    ...createRetransmitMeters(instruments),
    ...createStalenessMeters(instruments),
  };
};

const createRetransmitMeters = ({ createCounter, createCounterBy, createGauge }: Instruments) => {
  const bytes = createGauge(
    'rollcall_retransmit_buffer_bytes',
    'Bytes of confirmed work kept in memory in case the hot store loses it.',
  );
  const resent = createCounter(
    'rollcall_retransmitted_items_total',
    'Confirmed items that the hot store lost and that were sent to it again.',
  );
  const results = createCounterBy('outcome', ['applied', 'merged', 'deleted'], {
    name: 'rollcall_retransmit_results_total',
    help: 'Lost items by result: applied, merged into a newer vote of the same user, or listing deleted.',
  });
  return {
    recordRetransmitBytes: (size: number): void => bytes.set(size),
    recordResends: (items: number): void => resent.inc(items),
    recordResendOutcome: (outcome: string): void => results.inc({ outcome }),
  };
};

const createStalenessMeters = ({ createCounter }: Instruments) => {
  const polled = createCounter(
    'rollcall_version_poll_shards_total',
    'Shard versions compared with the hot store.',
  );
  const changedShards = createCounter(
    'rollcall_version_poll_changed_shards_total',
    'Shards that other nodes had changed; this node loads what they changed at its next read.',
  );
  const loads = createCounter(
    'rollcall_entity_loads_total',
    'Entities read from the hot store, because this node had no current state of them.',
  );
  return {
    recordVersionPoll: (shards: number, changed: number): void => {
      polled.inc(shards);
      changedShards.inc(changed);
    },
    recordLoads: (entities: number): void => loads.inc(entities),
  };
};

const flushFailures: readonly StorageReason[] = ['unreachable', 'busy', 'full', 'row', 'damaged', 'bug'];

const createFlushMeters = ({ createCounter, createCounterBy, createHistogram }: Instruments) => {
  const time = createHistogram(
    'rollcall_flush_duration_seconds',
    'Time of one flush round to SQL.',
    secondsBuckets,
  );
  const rows = createCounterBy('kind', ['entities', 'votes'], {
    name: 'rollcall_flushed_rows_total',
    help: 'Rows flushed to SQL, by kind: entities, or votes.',
  });
  const failures = createCounterBy('reason', flushFailures, {
    name: 'rollcall_flush_failures_total',
    help: 'Failed flush rounds, by reason.',
  });
  const deadLetters = createCounter(
    'rollcall_dead_letters_total',
    'Rows that SQL rejected and that were moved to the dead letters.',
  );
  return {
    recordFlush: (entities: number, votes: number, milliseconds: number): void => {
      time.observe(milliseconds / 1_000);
      rows.inc({ kind: 'entities' }, entities);
      rows.inc({ kind: 'votes' }, votes);
    },
    recordFlushFailure: (reason: string): void => failures.inc({ reason }),
    recordDeadLetters: (count: number): void => deadLetters.inc(count),
  };
};

const createLevelMeters = ({ createGauge }: Instruments) => {
  const pending = createGauge('rollcall_pending_items', 'Items waiting in open batches and in flight.');
  const actors = createGauge('rollcall_actors', 'Live actors.');
  const dirty = createGauge('rollcall_backlog_entities', 'Entities changed since they were last flushed.');
  const outbox = createGauge('rollcall_outbox_votes', 'Accepted votes not yet in SQL.');
  const lag = createGauge('rollcall_flush_lag_seconds', 'Age of the oldest change that is not in SQL.');
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

const partsSwitches: readonly PartsSwitch[] = ['complete', 'time', 'idle'];

const createPartsMeters = ({ createGauge, createCounterBy }: Instruments) => {
  const stale = createGauge(
    'rollcall_bot_shard_stale',
    'Shards of bots that have not posted lately, of the bots that this node judges.',
  );
  const promotions = createCounterBy('reason', partsSwitches, {
    name: 'rollcall_bot_shard_promotions_total',
    help:
      'Times the shards of a bot came into force for another shard count, by reason: complete, time, or ' +
      'idle (none of the shards before was live).',
  });
  return {
    recordStaleParts: (parts: number): void => stale.set(parts),
    recordPartsSwitch: (reason: PartsSwitch): void => promotions.inc({ reason }),
  };
};

const registerHealth = (registers: Registry[], read: () => NodeHealth): void => {
  new Gauge({
    name: 'rollcall_ready',
    help: '1 while /readyz answers 200, else 0.',
    registers,
    collect() {
      this.set(Number(read().ready));
    },
  });
  new Gauge({
    name: 'rollcall_store_up',
    help: '1 while the store answers, else 0, by store: hot, or sql.',
    labelNames: ['store'],
    registers,
    collect() {
      const { hot, sql } = read();
      this.set({ store: 'hot' }, Number(hot));
      this.set({ store: 'sql' }, Number(sql));
    },
  });
  new Gauge({
    name: 'rollcall_redis_weak_servers',
    help: 'Redis primaries that may lose confirmed writes in a crash or a failover; /readyz says why.',
    registers,
    collect() {
      this.set(read().weakServers);
    },
  });
};

/** Creates the registry and all metrics. `routeNames` are in the order of the route table. */
export const createMetrics = (routeNames: readonly string[], version: Version): Metrics => {
  const registry = new Registry();
  registerBuild(registry, version);
  const registers = [registry];
  registerProcessMeters(registry);
  const instruments = createInstruments(registers);
  const feed = createFeedCounts(feedEvents);
  registerFeedMeters(registers, feed);
  const clockAhead = instruments.createGauge(
    'rollcall_clock_offset_seconds',
    "This node's clock minus the hot store's; 0 on the embedded store.",
  );
  const evictingServers = instruments.createGauge(
    'rollcall_redis_evicting_servers',
    'Redis primaries that may evict counters: set maxmemory-policy noeviction there.',
  );
  return {
    engine: {
      ...createBatchMeters(instruments),
      ...createFlushMeters(instruments),
      ...createLevelMeters(instruments),
      ...createPartsMeters(instruments),
    },
    ...createRequestMeters(registry, routeNames),
    directory: registerDirectoryMeters(registers),
    jobs: registerJobMeters(instruments),
    history: registerHistoryMeters(instruments),
    outbound: registerOutboundMeters(registers),
    webhooks: registerWebhookMeters(registers),
    feed,
    recordClockAhead: (milliseconds) => clockAhead.set(milliseconds / 1_000),
    watchHealth: (read) => registerHealth(registers, read),
    watchBoards: (boards) => registerBoardAges(registers, boards),
    recordEvictingServers: (servers) => evictingServers.set(servers),
    render: () => registry.metrics(),
    contentType: registry.contentType,
    version,
  };
};

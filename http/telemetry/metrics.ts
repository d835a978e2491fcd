/**
 * The Prometheus metrics of the process: requests by route, and every number of metrics-table.ts.
 *
 * Calls per request or per item cost nanoseconds: plain numbers are read at a scrape, and the durations of
 * requests have histograms of fixed buckets in plain arrays, rendered only on a scrape: prom-client's own
 * hashes its labels on every observation. Nothing here throws into its callers.
 */
import { Counter, Gauge, Histogram, type MetricValueWithName, Registry } from 'prom-client';
import {
  type BoardName,
  boardNames,
  boardsByKind,
  type Edition,
  type RankedKind,
  rankedKinds,
} from '../../engine/rules/boards.ts';
import { type Note, type NoteName, noteSeverities, toNoteName } from '../../engine/tools/notes.ts';
import {
  createCounts,
  createEngineMeters,
  createHistoryMeters,
  createJobMeters,
  createOutboundMeters,
  createSetter,
  createWebhookMeters,
  type NodeCounts,
  type Observe,
} from './counts.ts';
import { registerProcessMeters } from './loop-meters.ts';
import { countMetrics, type MetricTable, type Reading } from './metrics-table.ts';

/** What runs here: the version of package.json, and the commit. */
export interface Version {
  readonly version: string;
  readonly commit: string;
}

/** Whether the node accepts traffic, and whether each of its stores answers. */
export interface NodeHealth {
  readonly ready: boolean;
  readonly hot: boolean;
  readonly sql: boolean;
  /** Redis primaries that may lose confirmed writes now, in a crash or a failover. */
  readonly weakServers: number;
  /** What keys that were deleted in Redis had left out, by kind. */
  readonly mended: Readonly<Record<string, number>>;
  readonly notes: readonly Note[];
}

/** The editions of leaderboards that this node shows. */
export interface BoardAges {
  readonly find: (kind: RankedKind, board: BoardName) => Edition | null;
  readonly nowMs: () => number;
}

const readNotes = ({ notes }: NodeHealth): Reading => {
  const open = new Set(notes.map(toNoteName));
  const names = Object.entries(noteSeverities) as [NoteName, string][];
  return Object.fromEntries(names.map(([name, severity]) => [name, { [severity]: Number(open.has(name)) }]));
};

const healthMetrics: MetricTable<NodeHealth> = {
  rollcall_ready: {
    help: '1 while /readyz answers 200, else 0.',
    read: ({ ready }) => Number(ready),
  },
  rollcall_store_up: {
    help: '1 while the store answers, else 0, by store: hot, or sql.',
    labels: ['store'],
    read: ({ hot, sql }) => ({ hot: Number(hot), sql: Number(sql) }),
  },
  rollcall_redis_weak_servers: {
    help: 'Redis primaries that may lose confirmed writes in a crash or a failover; /readyz says why.',
    read: ({ weakServers }) => weakServers,
  },
  rollcall_redis_mended_total: {
    help:
      'What keys that were deleted in Redis had left out and upkeep found, by kind: dirty, due, parts, ' +
      'producers, voters; votes and visitors are lost. Above 0: somebody deletes keys.',
    labels: ['kind'],
    read: ({ mended }) => mended,
  },
  rollcall_notes: {
    help: '1 while /readyz has this note, else 0, by note and its severity: page, ticket, or none.',
    labels: ['note', 'severity'],
    read: readNotes,
  },
};

const boardMetrics: MetricTable<BoardAges> = {
  rollcall_boards_edition_age_seconds: {
    help:
      'Age of the oldest edition of a leaderboard that this node shows; above three times its interval the ' +
      'job board_votes or board_others fails.',
    labels: ['board'],
    read: (boards) => Object.fromEntries(boardNames.flatMap((board) => readAge(boards, board))),
  },
};

/** A board without an edition has no value; with several kinds the oldest edition counts. */
const readAge = ({ find, nowMs }: BoardAges, board: BoardName): [BoardName, number][] => {
  const kinds = rankedKinds.filter((kind) => (boardsByKind[kind] as readonly string[]).includes(board));
  const made = kinds.flatMap((kind) => find(kind, board)?.madeAtMs ?? []);
  return made.length === 0 ? [] : [[board, Math.max(0, nowMs() - Math.min(...made)) / 1_000]];
};

/** Exclusive upper bound of HTTP statuses: the stride of the flat array of counts. */
const statusesMax = 600;
/** Shown for each route from the start, so that an alert sees the first one as an increase. */
const alertStatuses: ReadonlySet<number> = new Set([500, 503]);

interface RequestTable {
  readonly labels: readonly string[];
  readonly counts: Uint32Array;
}
const requestMetrics: MetricTable<RequestTable> = {
  rollcall_http_requests_total: {
    help:
      'HTTP requests answered, by route (the name of the operation, or none) and status; 499 means that ' +
      'the client disconnected.',
    labels: ['route', 'status'],
    read: ({ labels, counts }) =>
      Object.fromEntries(labels.map((label, route) => [label, readStatuses(counts, route)])),
  },
};

const readStatuses = (counts: Uint32Array, route: number): Record<string, number> => {
  const statuses: Record<string, number> = {};
  for (let status = 0; status < statusesMax; status++) {
    const count = counts[route * statusesMax + status] as number;
    if (count > 0 || alertStatuses.has(status)) statuses[status] = count;
  }
  return statuses;
};

const createRequestMeters = (registry: Registry, routeNames: readonly string[], node: NodeCounts) => {
  const labels = [...routeNames, 'none'];
  const counts = new Uint32Array(labels.length * statusesMax);
  registerMetrics(registry, requestMetrics, () => ({ labels, counts }));
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
      node.requests += 1;
      timings.observe(label, milliseconds);
    },
  };
  const countFailures = (index: number): number =>
    counts
      .subarray(index * statusesMax + 500, (index + 1) * statusesMax)
      .reduce((sum, count) => sum + count, 0);
  return { requests, requestCounts: { names: labels, getDurations: timings.getCounts, countFailures } };
};

/** Registers metrics that show what `readFrom` returns at each scrape; gives the histograms among them. */
const registerMetrics = <From>(
  registry: Registry,
  metrics: MetricTable<From>,
  readFrom: () => From,
): ReadonlyMap<string, Histogram> => {
  const histograms = new Map<string, Histogram>();
  for (const [name, metric] of Object.entries(metrics)) {
    const { help, labels: labelNames = [] } = metric;
    const options = { name, help, labelNames, registers: [registry] };
    if ('buckets' in metric) {
      histograms.set(name, new Histogram({ ...options, buckets: [...metric.buckets] }));
      continue;
    }
    const collect = function (this: Counter | Gauge): void {
      this.reset();
      for (const [values, count] of listValues(metric.read(readFrom())))
        this.inc(Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? ''])), count);
    };
    if (name.endsWith('_total')) new Counter({ ...options, collect });
    else new Gauge({ ...options, collect });
  }
  return histograms;
};

/** Each number of a reading with the values of its labels. */
const listValues = (reading: Reading): [readonly string[], number][] =>
  typeof reading === 'number'
    ? [[[], reading]]
    : Object.entries(reading).flatMap(([value, inner]) =>
        listValues(inner).map(([values, count]): [readonly string[], number] => [[value, ...values], count]),
      );

const registerBuild = (registry: Registry, { version, commit }: Version): void => {
  new Gauge({
    name: 'rollcall_build_info',
    help: 'Always 1; the labels tell what runs here.',
    labelNames: ['version', 'commit', 'node'],
    registers: [registry],
  }).set({ version, commit, node: process.version }, 1);
};

/**
 * Creates a function that renders all metrics in the Prometheus text format: once for all requests that the
 * event loop has read together, because that takes milliseconds.
 */
const createRenderer = (registry: Registry): (() => Promise<string>) => {
  let rendered: Promise<string> | null = null;
  return () => {
    if (rendered === null) {
      rendered = registry.metrics();
      setImmediate(() => {
        rendered = null;
      });
    }
    return rendered;
  };
};

/** Creates the registry and all metrics. `routeNames` are in the order of the route table. */
export const createMetrics = (routeNames: readonly string[], version: Version) => {
  const registry = new Registry();
  registerBuild(registry, version);
  const recordLoopLag = registerProcessMeters(registry);
  const counts = createCounts();
  const histograms = registerMetrics(registry, countMetrics, () => counts);
  const observe: Observe = (name, value, label) => {
    const histogram = histograms.get(name);
    if (label === undefined) histogram?.observe(value);
    else histogram?.labels(label).observe(value);
  };
  return {
    /** What all of them show. Handlers add to it. */
    counts,
    engine: createEngineMeters(counts, observe),
    ...createRequestMeters(registry, routeNames, counts),
    jobs: createJobMeters(counts, observe),
    history: createHistoryMeters(counts, observe),
    outbound: createOutboundMeters(counts, observe),
    webhooks: createWebhookMeters(counts),
    feed: counts.feed,
    /** Records how late a timer of the event loop was, ms. */
    recordLoopLag,
    /** Records this node's clock minus the hot store's, ms. */
    recordClockAhead: createSetter(counts, 'clockAheadMs'),
    recordSqlClockAhead: createSetter(counts, 'sqlClockAheadMs'),
    /** From here on every scrape shows what `read` returns. */
    watchHealth: (read: () => NodeHealth) => void registerMetrics(registry, healthMetrics, read),
    /** From here on every scrape shows the age of these boards. */
    watchBoards: (boards: BoardAges) => void registerMetrics(registry, boardMetrics, () => boards),
    /** Records how many Redis primaries may evict counters. */
    recordEvictingServers: createSetter(counts, 'evictingServers'),
    render: createRenderer(registry),
    contentType: registry.contentType,
    version,
  };
};
export type Metrics = ReturnType<typeof createMetrics>;

/** Upper bounds in ms; one more bucket counts everything above. */
export const boundsMs = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500] as const;

interface Series {
  readonly label: string;
  readonly counts: number[];
  sumMs: number;
}

const createSeries = (label: string): Series => ({
  label,
  counts: new Array<number>(boundsMs.length + 1).fill(0),
  sumMs: 0,
});

const findBucket = (milliseconds: number): number => {
  let index = 0;
  while (index < boundsMs.length && milliseconds > (boundsMs[index] as number)) index++;
  return index;
};

type MetricValue = MetricValueWithName<string>;

const toMetricValues = (name: string, labelName: string, series: Series): MetricValue[] => {
  const labels = { [labelName]: series.label };
  let total = 0;
  const values: MetricValue[] = series.counts.map((count, index) => {
    total += count;
    const bound = boundsMs[index];
    const le = bound === undefined ? '+Inf' : String(bound / 1_000);
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  values.push({ metricName: `${name}_sum`, labels, value: series.sumMs / 1_000 });
  values.push({ metricName: `${name}_count`, labels, value: total });
  return values;
};

export interface TimingsOptions {
  readonly name: string;
  readonly help: string;
  readonly labelName: string;
  readonly labels: readonly string[];
}

/** Registers a histogram in seconds. Observations with an index outside `labels` are ignored. */
export const registerTimings = (registry: Registry, options: TimingsOptions) => {
  const { name, help, labelName } = options;
  const allSeries = options.labels.map(createSeries);
  const listObserved = (): Series[] => allSeries.filter((series) => series.counts.some((count) => count > 0));
  const described = { name, help, type: 'histogram', aggregator: 'sum' };
  const metric = {
    ...described,
    get: async () => ({
      ...described,
      values: listObserved().flatMap((series) => toMetricValues(name, labelName, series)),
    }),
    reset: () => {
      for (const series of allSeries) series.counts.fill(0);
    },
  };
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
  return {
    /** Adds one duration under the label with this index. */
    observe: (index: number, milliseconds: number) => {
      const series = allSeries[index];
      if (series === undefined) return;
      const bucket = findBucket(milliseconds);
      series.counts[bucket] = (series.counts[bucket] as number) + 1;
      series.sumMs += milliseconds;
    },
    /** How many durations of this label are in each bucket. */
    getCounts: (index: number) => allSeries[index]?.counts ?? [],
  };
};

export interface RequestMeters {
  /** `index` is the route's position in the table, -1 when no route matched. */
  recordAnswer(index: number, status: number, milliseconds: number): void;
}

/**
 * The live frames of a node: once a second, what it does now, as server-sent events for the operator's
 * page.
 *
 * Each second it copies the counters, unless no request came, and computes the main figures, which a stream
 * that opens gets for the last 15 minutes. A frame is built once for all streams, and only while one is open.
 * A slow reader skips frames. At most `streamsMax` streams are open. Created by operator/listener.ts.
 */
import type { Clock } from '../../engine/ports.ts';
import { alignPause } from '../../engine/tools/align-pause.ts';
import {
  computeFigures,
  computeMean,
  type NodeTotals,
  readTotals,
  toTenths,
  type WatchedFigures,
} from './figures.ts';
import { boundsMs } from './metrics.ts';
import type { LiveFrame, LivePoint, LiveRoute, NodeStatus, RequestCounts } from './node-status.ts';

export interface LiveOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'after'>;
  readonly figures: Pick<WatchedFigures, 'metrics' | 'startedMs'>;
  readonly requestCounts: RequestCounts;
  /** Routes whose requests wait for something to happen: their times say nothing about the node. */
  readonly waitingRoutes: ReadonlySet<string>;
  readonly node: string;
  readonly version: string;
  readonly readHealth: () => { readonly ready: boolean; readonly notes: readonly string[] };
  readonly listNodes: () => readonly NodeStatus[];
}

export interface Live {
  /** Whether another stream may be opened. */
  hasRoom(): boolean;
  /**
   * Server-sent events: first `history` with the points of the last 15 minutes, then a frame at once and one
   * a second. Ends at once when there is no room, and with `close`.
   */
  stream(): AsyncIterableIterator<string>;
  close(): void;
}

export const streamsMax = 5;
const frameMs = 1_000;
const pointsMax = 900;
/** How many seconds the figures of routes and the percentiles cover. */
const windowSeconds = 10;
const routesMax = 12;
const bucketCount = boundsMs.length + 1;
/** Per route: its buckets, then its failures. */
const stride = bucketCount + 1;

interface Sample {
  readonly atMs: number;
  readonly totals: NodeTotals;
  readonly cpuMs: number;
  readonly counts: Float64Array;
}

const copyCounts = (requestCounts: RequestCounts): Float64Array => {
  const { names } = requestCounts;
  const counts = new Float64Array(names.length * stride);
  names.forEach((_, index) => {
    counts.set(requestCounts.getDurations(index), index * stride);
    counts[index * stride + bucketCount] = requestCounts.countFailures(index);
  });
  return counts;
};

/** `last` is the sample before, whose counts are those of now if there was no request since. */
const takeSample = ({ clock, figures, requestCounts }: LiveOptions, last?: Sample): Sample => {
  const totals = readTotals(figures.metrics.counts);
  const { user, system } = process.cpuUsage();
  return {
    atMs: clock.monotonicMs(),
    totals,
    cpuMs: (user + system) / 1_000,
    counts: last?.totals.requests === totals.requests ? last.counts : copyCounts(requestCounts),
  };
};

/** Estimates a percentile inside its bucket by a straight line; above the last bound it is that bound. */
export const estimatePercentile = (counts: ArrayLike<number>, share: number): number | null => {
  let total = 0;
  for (let bucket = 0; bucket < bucketCount; bucket++) total += counts[bucket] ?? 0;
  if (total === 0) return null;
  let rest = total * share;
  for (let bucket = 0; bucket < boundsMs.length; bucket++) {
    const count = counts[bucket] ?? 0;
    const [low, high] = [boundsMs[bucket - 1] ?? 0, boundsMs[bucket] as number];
    if (rest <= count) return Math.round((low + ((high - low) * rest) / count) * 100) / 100;
    rest -= count;
  }
  return boundsMs.at(-1) ?? null;
};

const measureSeconds = (newer: Sample, older: Sample): number =>
  Math.max(0.001, (newer.atMs - older.atMs) / 1_000);

const listRoutes = (newer: Sample, older: Sample, names: readonly string[]) => {
  const seconds = measureSeconds(newer, older);
  if (newer.counts === older.counts) return { seconds, rows: [] };
  const rows = names.map((route, index) => {
    const row = newer.counts.subarray(index * stride, (index + 1) * stride);
    const counts = row.map((count, at) => count - (older.counts[index * stride + at] as number));
    let requests = 0;
    for (let bucket = 0; bucket < bucketCount; bucket++) requests += counts[bucket] as number;
    return { route, counts, requests, failures: counts[bucketCount] as number };
  });
  return { seconds, rows: rows.filter(({ requests }) => requests > 0) };
};

const toLiveRoutes = ({ seconds, rows }: ReturnType<typeof listRoutes>): readonly LiveRoute[] =>
  rows
    .toSorted((one, other) => other.requests - one.requests)
    .slice(0, routesMax)
    .map(({ route, counts, requests, failures }) => ({
      route,
      requests_per_s: toTenths(requests / seconds),
      failures_per_s: toTenths(failures / seconds),
      p50_ms: estimatePercentile(counts, 0.5),
      p99_ms: estimatePercentile(counts, 0.99),
    }));

const addCounts = ({ rows }: ReturnType<typeof listRoutes>, waiting: ReadonlySet<string>): Float64Array => {
  const sum = new Float64Array(stride);
  for (const { route, counts } of rows) {
    if (waiting.has(route)) continue;
    counts.forEach((count, at) => {
      sum[at] = (sum[at] as number) + count;
    });
  }
  return sum;
};

const sumFailures = ({ rows }: ReturnType<typeof listRoutes>): number =>
  rows.reduce((total, { failures }) => total + failures, 0);

/** Adds the numbers of all values of a label. */
const sumCounts = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** What points and frames have in common. `samples` has at least two, the oldest first. */
const measure = (options: LiveOptions, samples: readonly Sample[]) => {
  const { figures, requestCounts, waitingRoutes } = options;
  const [newest, previous, oldest] = [samples.at(-1), samples.at(-2), samples[0]] as [Sample, Sample, Sample];
  const seconds = measureSeconds(newest, previous);
  const { totals } = newest;
  const last = previous.totals;
  const own = computeFigures(figures.metrics.counts, { totals, last, seconds });
  const window = listRoutes(newest, oldest, requestCounts.names);
  const all = addCounts(window, waitingRoutes);
  const failures = sumFailures(listRoutes(newest, previous, requestCounts.names));
  const point: LivePoint = {
    at_ms: options.clock.nowMs(),
    requests_per_s: own.requests_per_s,
    failures_per_s: toTenths(failures / seconds),
    p50_ms: estimatePercentile(all, 0.5),
    p99_ms: estimatePercentile(all, 0.99),
    hot_store_ms: own.hot_store_ms,
    flush_lag_s: own.flush_lag_s,
  };
  return { newest, previous, seconds, own, window, point };
};

type Measured = ReturnType<typeof measure>;

const buildFrame = (options: LiveOptions, measured: Measured): LiveFrame => {
  const { clock, figures, node, version } = options;
  const { newest, previous, seconds, own, window, point } = measured;
  const { counts } = figures.metrics;
  const { sse, websocket } = counts.feed.connections;
  const { totals } = newest;
  const last = previous.totals;
  const commits = totals.commits.calls - last.commits.calls;
  const uptime_s = Math.round((clock.monotonicMs() - figures.startedMs) / 1_000);
  const others = options.listNodes().filter((other) => other.node !== node);
  const self = { node, version, figures: { uptime_s, ...own } };
  return {
    node,
    version,
    uptime_s,
    ...options.readHealth(),
    ...own,
    ...point,
    commits_per_s: toTenths(commits / seconds),
    items_per_commit: computeMean(totals.commits.items - last.commits.items, commits),
    flushes_per_s: toTenths((totals.flushes.rounds - last.flushes.rounds) / seconds),
    pending_items: counts.pendingItems,
    actors: counts.actors,
    commit_failures: sumCounts(counts.commitFailures),
    flush_failures: sumCounts(counts.flushFailures),
    dead_letters: counts.deadLetters,
    job_failures: sumCounts(counts.jobFailures),
    webhooks: counts.webhooks,
    feed_connections: sse + websocket,
    memory_mb: readMemoryMb(),
    cpu_percent: Math.round((newest.cpuMs - previous.cpuMs) / seconds / 10),
    routes: toLiveRoutes(window),
    nodes: [self, ...others].sort((one, other) => (one.node < other.node ? -1 : 1)),
  };
};

/** 0 without free file descriptors: the system then does not say. */
const readMemoryMb = (): number => {
  try {
    return Math.round(process.memoryUsage.rss() / 1_048_576);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') return 0;
    throw error;
  }
};

const formatEvent = (event: 'history' | 'frame', data: unknown): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Calls `tick` once a second, and records how late each call is. Returns a function that stops it. */
const startTicks = ({ clock, figures }: LiveOptions, tick: () => void): (() => void) => {
  let cancel = (): void => {};
  const schedule = (): void => {
    const nowMs = clock.monotonicMs();
    const pauseMs = alignPause(frameMs, nowMs);
    cancel = clock.after(pauseMs, () => {
      figures.metrics.recordLoopLag(clock.monotonicMs() - nowMs - pauseMs);
      tick();
      schedule();
    });
  };
  schedule();
  return () => cancel();
};

/** Starts the sampler. */
export const createLive = (options: LiveOptions): Live => {
  const samples: Sample[] = [takeSample(options)];
  const points: LivePoint[] = [];
  /** One per open stream: wakes it. */
  const wakers = new Set<() => void>();
  let measured: Measured | null = null;
  let [frame, text] = [null as LiveFrame | null, ''];
  let closed = false;
  const wakeAll = (): void => {
    for (const wake of wakers) wake();
  };
  const tick = (): void => {
    samples.push(takeSample(options, samples.at(-1)));
    if (samples.length > windowSeconds + 1) samples.shift();
    measured = measure(options, samples);
    [frame, text] = [null, ''];
    points.push(measured.point);
    if (points.length > pointsMax) points.shift();
    wakeAll();
  };
  const getFrame = (): LiveFrame | null => {
    if (measured !== null) frame ??= buildFrame(options, measured);
    return frame;
  };
  const cancel = startTicks(options, tick);
  async function* sendEvents(waker: Waker): AsyncGenerator<string> {
    if (wakers.size >= streamsMax || closed) return;
    wakers.add(waker.wake);
    try {
      yield `retry: 2000\n${formatEvent('history', points)}`;
      let sent: LiveFrame | null = null;
      while (!closed && !waker.left) {
        const next = getFrame();
        if (next === sent) {
          await waker.sleep();
          continue;
        }
        sent = next;
        if (text === '') text = formatEvent('frame', next);
        yield text;
      }
    } finally {
      wakers.delete(waker.wake);
    }
  }
  return {
    hasRoom: () => wakers.size < streamsMax,
    stream: () => {
      const waker = createWaker();
      return endEarly(sendEvents(waker), waker.leave);
    },
    close: () => {
      closed = true;
      cancel();
      wakeAll();
    },
  };
};

type Waker = ReturnType<typeof createWaker>;

const createWaker = () => {
  let resume = (): void => {};
  const waker = {
    left: false,
    wake: (): void => resume(),
    sleep: (): Promise<void> =>
      new Promise((resolve) => {
        resume = resolve;
      }),
    leave: (): void => {
      waker.left = true;
      resume();
    },
  };
  return waker;
};

/** `return` of a plain generator would wait for the next frame. */
const endEarly = (events: AsyncGenerator<string>, leave: () => void): AsyncIterableIterator<string> => ({
  [Symbol.asyncIterator]() {
    return this;
  },
  next: () => events.next(),
  return: () => {
    leave();
    return events.return(undefined);
  },
});

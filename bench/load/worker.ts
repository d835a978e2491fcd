/**
 * The load: autocannon in a worker thread, apart from the servers and from the suite. Closed loop: a
 * connection sends its next request when the last was answered.
 *
 * Warm-up is part of the same run, so connections are warm too; only what was answered between `begun` and
 * `ended` counts. Requests are made before. Started by load/autocannon.ts.
 */
import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { build } from 'hdr-histogram-js';
import { threadCpuUs } from '../measure/cpu.ts';
import { scenarioOf } from '../scenarios/all.ts';
import type { LoadRequest } from '../scenarios/scenario.ts';
import type { Directory } from '../servers/directory.ts';
import type { LoadResult, Order, Report } from './order.ts';

interface Client {
  setRequests(requests: LoadRequest[]): void;
}
type Answer = [client: Client, status: number, bytes: number, milliseconds: number];
interface Run extends PromiseLike<{ readonly errors: number }> {
  stop(): void;
  on(event: 'response', take: (...answer: Answer) => void): void;
}
type Autocannon = (options: Readonly<Record<string, unknown>>) => Run;

// It comes without types.
const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;
const { directory } = workerData as { readonly directory: Directory };
const say = (report: Report): void => parentPort?.postMessage(report);

interface Mark {
  readonly atMs: number;
  readonly threadUs: number | null;
  readonly loop: ReturnType<typeof performance.eventLoopUtilization>;
}
const mark = (): Mark => ({
  atMs: performance.now(),
  threadUs: threadCpuUs(),
  loop: performance.eventLoopUtilization(),
});

const busyBetween = (from: Mark, to: Mark): number =>
  from.threadUs === null || to.threadUs === null
    ? performance.eventLoopUtilization(to.loop, from.loop).utilization
    : (to.threadUs - from.threadUs) / 1_000 / (to.atMs - from.atMs);

/** Connections take their rings in the order in which they are made. */
const ringsOf = (order: Order): LoadRequest[][] => {
  const scenario = scenarioOf(order.scenario);
  const seconds = order.warmupSeconds + order.measureSeconds;
  const { round, connections } = order;
  return Array.from({ length: connections }, (_, connection) =>
    scenario.requestsOf({ directory, round, connection, connections, seconds }),
  );
};

/** Never reached: a round ends when it was measured, however slow the machine is. */
const durationMaxSeconds = 600;

const run = async (order: Order): Promise<LoadResult> => {
  const rings = ringsOf(order);
  const histogram = build({ highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });
  const statuses: Record<string, number> = {};
  let made = 0;
  let measuring = false;
  let requests = 0;
  const load = autocannon({
    url: order.url,
    connections: order.connections,
    duration: durationMaxSeconds,
    sampleInt: 50,
    skipAggregateResult: true,
    setupClient: (client: Client) => client.setRequests(rings[made++ % rings.length] as LoadRequest[]),
  });
  load.on('response', (...answer) => {
    const [, status, , milliseconds] = answer;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (!measuring) return;
    requests += 1;
    histogram.recordValue(Math.max(1, Math.round(milliseconds * 1_000)));
  });
  let from = mark();
  let to = from;
  setTimeout(() => {
    measuring = true;
    from = mark();
    say({ kind: 'begun' });
    setTimeout(() => {
      measuring = false;
      to = mark();
      say({ kind: 'ended' });
      load.stop();
    }, order.measureSeconds * 1_000);
  }, order.warmupSeconds * 1_000);
  const { errors } = await load;
  const seconds = (to.atMs - from.atMs) / 1_000;
  return {
    requests,
    requestsPerSecond: requests / seconds,
    statuses,
    errors,
    p50Ms: histogram.getValueAtPercentile(50) / 1_000,
    p99Ms: histogram.getValueAtPercentile(99) / 1_000,
    generatorBusy: busyBetween(from, to),
  };
};

parentPort?.on('message', (order: Order) => {
  run(order).then(
    (result) => say({ kind: 'done', result }),
    (error: unknown) => say({ kind: 'failed', words: String(error) }),
  );
});

/**
 * The load generator: a process that carries out one order after the other.
 *
 * Warm-up is part of the same run, so connections are warm too; only answers between `begun` and `ended`
 * count. Requests are built before the round.
 */
import { performance } from 'node:perf_hooks';
import { build } from 'hdr-histogram-js';
import { buildRequestLists, findScenario } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import { driveReconnecting } from './churn.ts';
import { type Drive, driveAutocannon } from './drive.ts';
import { type LoadResult, type Order, percentiles, type Report, sliceSeconds } from './order.ts';

const say = (report: Report): void => void process.send?.(report);

/** What is counted between `begun` and `ended`. */
const createTally = () => {
  const histogram = build({ highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });
  const statuses: Record<string, number> = {};
  const perSlice: number[] = [];
  let begunMs = -1;
  let requests = 0;
  let bytes = 0;
  return {
    begin: () => {
      begunMs = performance.now();
      return begunMs;
    },
    end: () => {
      begunMs = -1;
    },
    answer: (status: number, received: number, milliseconds: number): void => {
      if (begunMs < 0) return;
      requests += 1;
      bytes += received;
      statuses[status] = (statuses[status] ?? 0) + 1;
      const slice = Math.floor((performance.now() - begunMs) / 1_000 / sliceSeconds);
      perSlice[slice] = (perSlice[slice] ?? 0) + 1;
      histogram.recordValue(Math.max(1, Math.round(milliseconds * 1_000)));
    },
    figures: () => ({
      requests,
      bytes,
      statuses,
      perSlice: Array.from(perSlice, (count) => count ?? 0),
      latencyMs: percentiles.map((percentile) => histogram.getValueAtPercentile(percentile) / 1_000),
    }),
  };
};

const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

const run = async (order: Order, directory: Directory): Promise<LoadResult> => {
  const drive: Drive = findScenario(order.scenario).reconnects ? driveReconnecting : driveAutocannon;
  const tally = createTally();
  const seconds = order.warmupSeconds + order.measureSeconds;
  const driving = drive(order, buildRequestLists({ ...order, directory, seconds }), tally.answer);
  await pause(order.warmupSeconds);
  const fromCpu = process.cpuUsage();
  const fromMs = tally.begin();
  say({ kind: 'begun' });
  await pause(order.measureSeconds);
  tally.end();
  const measuredSeconds = (performance.now() - fromMs) / 1_000;
  const used = process.cpuUsage(fromCpu);
  say({ kind: 'ended' });
  const errors = await driving.stop();
  const figures = tally.figures();
  return {
    ...figures,
    requestsPerSecond: figures.requests / measuredSeconds,
    errors,
    generatorBusy: (used.user + used.system) / 1_000_000 / measuredSeconds,
  };
};

let directory: Directory = { bots: [], users: [] };
type Message =
  | { readonly kind: 'directory'; readonly directory: Directory }
  | { readonly kind: 'order'; readonly order: Order };
process.on('message', (message: Message) => {
  if (message.kind === 'directory') {
    directory = message.directory;
    return;
  }
  run(message.order, directory).then(
    (result) => say({ kind: 'done', result }),
    (error: unknown) => say({ kind: 'failed', message: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));

/**
 * The load generator: a process that carries out one order after the other.
 *
 * Warm-up is part of the same run, so connections are warm too; only answers between `begun` and `ended`
 * count. Requests are built before the round.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { buildRequestLists, findScenario } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import { type Answered, driveAtRate, driveAutocannon, driveReconnecting } from './drive.ts';
import { type LoadResult, type Order, type Report, sliceSeconds } from './order.ts';
import { createTally } from './tally.ts';

const say = (report: Report): void => void process.send?.(report);

const run = async (order: Order, directory: Directory): Promise<LoadResult> => {
  const { reconnects } = findScenario(order.scenario);
  const drive = reconnects ? driveReconnecting : order.rate > 0 ? driveAtRate : driveAutocannon;
  const tally = createTally();
  const perSlice: number[] = [];
  let bytes = 0;
  let begunMs = Number.POSITIVE_INFINITY;
  const take: Answered = (status, received, milliseconds) => {
    const seconds = (performance.now() - begunMs) / 1_000;
    if (seconds < 0) return;
    const slice = Math.floor(seconds / sliceSeconds);
    while (perSlice.length <= slice) perSlice.push(0);
    perSlice[slice] = (perSlice[slice] ?? 0) + 1;
    bytes += received;
    tally.take(status, milliseconds);
  };
  const seconds = order.warmupSeconds + order.measureSeconds;
  const driving = drive(order, buildRequestLists({ ...order, directory, seconds }), take);
  await pause(order.warmupSeconds * 1_000);
  const fromCpu = process.cpuUsage();
  const fromMs = performance.now();
  begunMs = fromMs;
  say({ kind: 'begun' });
  await pause(order.measureSeconds * 1_000);
  begunMs = Number.POSITIVE_INFINITY;
  const measuredSeconds = (performance.now() - fromMs) / 1_000;
  const used = process.cpuUsage(fromCpu);
  say({ kind: 'ended' });
  await driving.stop();
  const { requests, failures, latencyMs } = tally.read();
  return {
    ...{ requests, failures, latencyMs, bytes, perSlice },
    requestsPerSecond: requests / measuredSeconds,
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

/**
 * Measures two commits by turns: one round of OLD, one of NEW, in the opposite order every second time, with
 * the same requests by one driver.
 *
 * Both servers live through the whole run, each on stores of its own. Steady loads come first: what
 * saturation leaves to collect would else be part of them.
 */
import { join } from 'node:path';
import type { Load } from '../load/order.ts';
import { driveFleet } from '../load/schedule.ts';
import { readResidentBytes, readWrittenBytes } from '../machine/cpu.ts';
import { canPlace } from '../machine/places.ts';
import { measureRound } from '../measure/round.ts';
import { measureLoad } from '../measure/usage.ts';
import { findFailedClaims } from '../peers/check.ts';
import type { Live } from '../report/live.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, startRollcall } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { computeUsedSeconds, leadSeconds, type SteadyScenario, warmUp } from '../steady/measure.ts';
import { type SideName, sides, type TurnRow } from './report.ts';

export interface TurnsPlan {
  readonly scenarios: readonly SteadyScenario[];
  readonly rates: readonly number[];
  readonly saturates: boolean;
  readonly rounds: number;
  readonly seconds: number;
}

export interface Side {
  readonly name: SideName;
  readonly process: ServerProcess;
  readonly stores: Stores;
  stop(): Promise<void>;
}

export const saturation = { connections: 256, warmupSeconds: 0.15, seconds: 2 } as const;
const coolSeconds = 20;

/** Starts the server of a checkout, as an operator does, with the directory on new stores. */
export const openSide = async (
  name: SideName,
  { checkout, kind, directory }: { checkout: string; kind: Stores['kind']; directory: Directory },
): Promise<Side> => {
  const folder = createFolder();
  const stores = await openStores(kind, false);
  const close = async (): Promise<void> => {
    await stores.close();
    folder.remove();
  };
  try {
    const program = join(checkout, 'ops/bin/rollcall');
    const wanted = { directory, profileDir: null, stores: stores.rollcall, program };
    const process = await startRollcall(folder, wanted);
    const stop = (): Promise<void> => process.stop().then(close);
    const failed = await findFailedClaims(process.url, directory, ['stats', 'read', 'page', 'vote']);
    if (failed.length === 0) return { name, process, stores, stop };
    await process.stop();
    throw new Error(`${name} does not do its work: ${failed.join('; ')}`);
  } catch (error) {
    await close();
    throw error;
  }
};

export interface TurnsWorld {
  readonly opened: readonly Side[];
  /** Users of the steady loads, and those of saturation: no vote is sent twice. */
  readonly directory: Directory;
  readonly load: Load;
  readonly live: Live;
  readonly signal: AbortSignal;
}

interface Step {
  readonly scenario: SteadyScenario;
  readonly rate: number;
  readonly seconds: number;
  readonly round: number;
  readonly usedSeconds: number;
}
type Measured = Omit<TurnRow, 'side' | 'stores' | 'scenario' | 'load' | 'round' | 'memoryBytes'>;

const orderOf = ({ directory }: TurnsWorld, { round: _, ...step }: Step) => ({
  ...step,
  directory,
  routing: 'random' as const,
  isUniform: true,
});

const measureSteadyRound = async (world: TurnsWorld, side: Side, step: Step): Promise<Measured> => {
  const fleet = { servers: [side.process], stores: side.stores };
  const { used, answers } = await measureLoad(fleet, { ...orderOf(world, step), leadSeconds });
  const { requests, failed, p50Ms } = answers;
  return {
    failed,
    p50Ms,
    totalUs: (used.serverUs + used.redisUs + used.postgresUs) / requests,
    serverUs: used.serverUs / requests,
    diskBytes: used.writtenBytes / requests,
  };
};

const measureSaturation = async ({ load }: TurnsWorld, side: Side, step: Step): Promise<Measured> => {
  const { process, stores } = side;
  const readDisk = (): number => readWrittenBytes(process.child.pid ?? 0) + stores.writtenBytes();
  const options = { ...saturation, measureSeconds: step.seconds, rate: 0 };
  const placement = canPlace() ? ('one-core' as const) : null;
  const before = readDisk();
  const sample = await measureRound({ options, load }, stores, {
    ...{ ...step, server: 'rollcall', process, placement },
  });
  const { requests, statuses, errors, latencyMs } = sample.load;
  const answered = Object.entries(statuses).filter(([status]) => !status.startsWith('2'));
  return {
    failed: answered.reduce((sum, [, count]) => sum + count, errors),
    p50Ms: latencyMs[0] ?? 0,
    totalUs: sample.cpuUs + sample.redisCpuUs + sample.postgresCpuUs,
    serverUs: sample.cpuUs,
    diskBytes: (readDisk() - before) / Math.max(1, requests),
  };
};

const warmUpAll = async (world: TurnsWorld, { scenarios }: TurnsPlan): Promise<number> => {
  let usedSeconds = 0;
  const cool = { rate: 50, seconds: coolSeconds / scenarios.length };
  for (const { rate, seconds } of [warmUp, cool])
    for (const scenario of scenarios) {
      if (world.signal.aborted) break;
      world.live.show(`${scenario} at ${rate}/s: both are warmed up …`);
      const order = orderOf(world, { scenario, rate, seconds, round: 0, usedSeconds });
      await Promise.all(world.opened.map(({ process }) => driveFleet({ ...order, urls: [process.url] })));
      usedSeconds += computeUsedSeconds(rate, seconds);
    }
  return usedSeconds;
};

/** Adds a row for each side and round, until the signal aborts. */
export const measureTurns = async (world: TurnsWorld, plan: TurnsPlan, rows: TurnRow[]): Promise<void> => {
  let usedSeconds = await warmUpAll(world, plan);
  let saturatedSeconds = 0;
  for (const rate of [...plan.rates, ...(plan.saturates ? [0] : [])])
    for (const scenario of plan.scenarios)
      for (let round = 1; round <= plan.rounds; round++) {
        const seconds = rate === 0 ? saturation.seconds : plan.seconds;
        const step = {
          scenario,
          rate,
          seconds,
          round,
          usedSeconds: rate === 0 ? saturatedSeconds : usedSeconds,
        };
        rows.push(...(await takeTurns(world, step)));
        if (rate === 0) saturatedSeconds += saturation.warmupSeconds + seconds;
        else usedSeconds += computeUsedSeconds(rate, seconds);
      }
};

const takeTurns = async (world: TurnsWorld, step: Step): Promise<TurnRow[]> => {
  const { scenario, rate, round } = step;
  const load = rate === 0 ? 'saturation' : `${rate}/s`;
  const rows: TurnRow[] = [];
  for (const name of round % 2 === 0 ? sides.toReversed() : sides) {
    const side = world.opened.find((one) => one.name === name);
    if (side === undefined || world.signal.aborted) return [];
    world.live.show(`${scenario}, ${load}, round ${round}: ${name} …`);
    const measured = await (rate === 0 ? measureSaturation : measureSteadyRound)(world, side, step);
    const memoryBytes = readResidentBytes(side.process.child.pid ?? 0);
    rows.push({ side: name, stores: side.stores.kind, scenario, load, round, memoryBytes, ...measured });
  }
  return rows;
};

/**
 * Measures servers by turns at steady rates, evenly over all bots (the load that nearly every real directory
 * has), and at saturation.
 *
 * Before the first scenario each server is warmed up by a high rate, then settles under a low one: collecting
 * the garbage of the high rate would else be part of what is measured. Saturation comes last for the same
 * reason.
 */
import type { Load } from '../load/order.ts';
import { driveFleet, lists } from '../load/schedule.ts';
import { canPlace } from '../machine/places.ts';
import type { Live } from '../report/live.ts';
import { latencyOf, type Row, totalOf } from '../report/rows.ts';
import type { Directory } from '../scenarios/directory.ts';
import { votesPerConnectionAndSecond } from '../scenarios/vote.ts';
import { type Contestant, measureRate, measureRound } from './round.ts';

export const steadyScenarios = ['read', 'page', 'stats', 'vote'] as const;
export type SteadyScenario = (typeof steadyScenarios)[number];

export interface SteadyWorld {
  readonly contestants: readonly Contestant[];
  readonly directory: Directory;
  /** For saturation: with users of its own, because no vote is sent twice. */
  readonly load?: Load;
  readonly live: Live;
  readonly signal: AbortSignal;
}

export interface SteadyPlan {
  readonly scenarios: readonly SteadyScenario[];
  /** Requests a second; 0: saturation. */
  readonly rates: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  /** Of the low rate before the first scenario. */
  readonly lowSeconds: number;
  /** What all servers get at the same time: their CPU is their own, but they disturb each other. */
  readonly atOnce: 'all' | 'warm-up' | 'low rate';
}

/** Fewer requests leave much of the code to be compiled in the measured time, at a cost as high as theirs. */
const warmUp = { rate: 1_000, seconds: 16 };
const lowRate = 50;
/** The same load before the measured time. */
const leadSeconds = 2;
export const saturation = { connections: 256, warmupSeconds: 0.15, measureSeconds: 2 } as const;

/** Users enough for all votes of a plan at its rates. */
export const countSteadyUsers = (plan: SteadyPlan, bots: number): number => {
  const { scenarios, rates, rounds, seconds, lowSeconds } = plan;
  const measured = rates.map((rate) => rounds * computeUsedSeconds(rate, seconds));
  const before =
    computeUsedSeconds(warmUp.rate, warmUp.seconds) +
    computeUsedSeconds(lowRate, lowSeconds / scenarios.length);
  const longest = leadSeconds + Math.max(seconds, lowSeconds, warmUp.seconds);
  const used = scenarios.length * measured.reduce((sum, one) => sum + one, before);
  return lists * (2 + Math.ceil(((used + longest) * votesPerConnectionAndSecond) / bots));
};

/** How far an order moves `usedSeconds`: a list of requests is used more slowly than the clock runs. */
export const computeUsedSeconds = (rate: number, seconds: number): number =>
  Math.ceil((rate * (seconds + leadSeconds)) / lists / votesPerConnectionAndSecond);

interface Step {
  readonly scenario: SteadyScenario;
  readonly rate: number;
  /** 0: what is sent does not count. */
  readonly round: number;
  readonly seconds: number;
  /** Of earlier steps: their votes must not be sent again. */
  readonly usedSeconds: number;
}

const measureStep = async (
  { directory, load, live, signal }: SteadyWorld,
  contestant: Contestant,
  { round, ...order }: Step,
): Promise<readonly Row[]> => {
  const { scenario, rate, usedSeconds } = order;
  const { name, process } = contestant;
  if (signal.aborted) return [];
  live.show(`${scenario} at ${rate || 'saturation'}${rate ? '/s' : ''}, round ${round}: ${name} …`);
  if (round === 0) {
    await driveFleet({ ...order, urls: [process.url], routing: 'random', isUniform: true, directory });
    return [];
  }
  if (rate > 0) return [await measureRate(contestant, round, { ...order, directory, leadSeconds })];
  if (load === undefined) throw new Error('saturation needs a load');
  const placement = canPlace() ? ('one-core' as const) : null;
  const saturating = { scenario, round, usedSeconds, ...saturation, rate: 0, placement };
  return [{ ...(await measureRound(load, contestant, saturating)), load: 'saturation' }];
};

/** One server after the other, in the opposite order every second time; or all at once. */
const inTurn = async (world: SteadyWorld, step: Step, isAtOnce: boolean): Promise<readonly Row[]> => {
  const order = step.round % 2 === 0 ? world.contestants.toReversed() : world.contestants;
  if (isAtOnce) return (await Promise.all(order.map((one) => measureStep(world, one, step)))).flat();
  const rows: Row[] = [];
  for (const one of order) rows.push(...(await measureStep(world, one, step)));
  // Of a round that was interrupted, nothing.
  return world.signal.aborted ? [] : rows;
};

const printRow = (live: Live, row: Row): void =>
  live.print(
    `  ${row.scenario}, ${row.load}, ${row.server.padEnd(17)} p50 ${latencyOf(50)(row).toFixed(2)} ms, ` +
      `CPU ${totalOf(row).toFixed(0)} µs`,
  );

/** Adds a row per rate, scenario, round and server to `rows`, until the signal aborts. */
export const measureSteady = async (world: SteadyWorld, plan: SteadyPlan, rows: Row[]): Promise<void> => {
  const { scenarios, rounds, atOnce } = plan;
  let [usedSeconds, saturatedSeconds] = [0, 0];
  const run = async (step: Omit<Step, 'usedSeconds'>, isAtOnce: boolean): Promise<void> => {
    const isSaturated = step.rate === 0;
    const used = isSaturated ? saturatedSeconds : usedSeconds;
    const found = await inTurn(world, { ...step, usedSeconds: used }, isAtOnce);
    if (isSaturated) saturatedSeconds += saturation.warmupSeconds + saturation.measureSeconds;
    else usedSeconds += computeUsedSeconds(step.rate, step.seconds);
    rows.push(...found);
    for (const row of found) printRow(world.live, row);
  };
  for (const scenario of scenarios) await run({ scenario, ...warmUp, round: 0 }, atOnce !== 'low rate');
  const seconds = plan.lowSeconds / scenarios.length;
  for (const scenario of scenarios) await run({ scenario, rate: lowRate, round: 0, seconds }, true);
  for (const rate of [...plan.rates].sort((a, b) => (a || Infinity) - (b || Infinity)))
    for (const scenario of scenarios)
      for (let round = 1; round <= rounds; round++)
        await run({ scenario, rate, round, seconds: plan.seconds }, atOnce === 'all');
};

/**
 * Measures what a request costs at a steady rate, evenly over all bots: the load that nearly every real
 * directory has.
 *
 * Before the first scenario each server is warmed up by a high rate, then settles under a low one: collecting
 * the garbage of the high rate would else be part of what is measured.
 */

import { driveFleet, lists } from '../load/schedule.ts';
import { measureLoad } from '../measure/usage.ts';
import type { Live } from '../report/live.ts';
import type { SteadyRow } from '../report/result.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import { votesPerConnectionAndSecond } from '../scenarios/vote.ts';
import type { Contestants, ServerName } from '../servers/contestants.ts';
import { findStores, type Stores } from '../servers/stores.ts';

export const steadyScenarios = ['read', 'page', 'stats', 'vote'] as const;
export type SteadyScenario = (typeof steadyScenarios)[number];

export interface SteadyWorld {
  readonly servers: Contestants;
  readonly stores: Stores;
  readonly directory: Directory;
  readonly live: Live;
  readonly signal: AbortSignal;
  /** Seconds used by earlier orders: votes must not be sent again. */
  usedSeconds: number;
}

export interface SteadyPlan {
  readonly servers: readonly ServerName[];
  readonly scenarios: readonly LoadScenarioName[];
  readonly rates: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  /** Of the low rate before the first scenario. */
  readonly lowSeconds: number;
  /** All servers get their load at the same time: their CPU is their own, but they disturb each other. */
  readonly atOnce: boolean;
}

/** Fewer requests leave much of the code to be compiled in the measured time, at a cost as high as theirs. */
export const warmUp = { rate: 1_000, seconds: 16 };
const lowRate = 50;
/** The same load before the measured time. */
export const leadSeconds = 2;

/** Users enough for all votes of a plan; `usedSeconds` begins at 0. */
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
  readonly scenario: LoadScenarioName;
  readonly rate: number;
  readonly round: number;
  readonly seconds: number;
}

const orderOf = ({ directory, usedSeconds }: SteadyWorld, { scenario, rate, seconds }: Step) => ({
  scenario,
  rate,
  seconds,
  usedSeconds,
  directory,
  routing: 'random' as const,
  isUniform: true,
});

const warmUpServer = async (world: SteadyWorld, server: ServerName, step: Step): Promise<SteadyRow[]> => {
  const process = world.servers.get(server);
  if (process === undefined || world.signal.aborted) return [];
  const task = step.rate === lowRate ? 'cools down' : 'is warmed up';
  world.live.show(`${step.scenario}: ${server} ${task} …`);
  await driveFleet({ ...orderOf(world, step), urls: [process.url] });
  return [];
};

const measureServer = async (world: SteadyWorld, server: ServerName, step: Step): Promise<SteadyRow[]> => {
  const process = world.servers.get(server);
  if (process === undefined || world.signal.aborted) return [];
  world.live.show(`${step.scenario} at ${step.rate}/s: ${server} …`);
  const fleet = { servers: [process], stores: findStores(world.stores, server) };
  const { used, answers } = await measureLoad(fleet, { ...orderOf(world, step), leadSeconds });
  const each = (total: number): number => total / answers.requests;
  const { scenario, rate, round } = step;
  return [
    {
      ...{ scenario, server, rate, round },
      requests: answers.requests,
      failed: answers.failed,
      p50Ms: answers.p50Ms,
      p99Ms: answers.p99Ms,
      serverUs: each(used.serverUs),
      redisUs: each(used.redisUs),
      postgresUs: each(used.postgresUs),
      wakeUps: each(used.wakeUps),
      diskBytes: each(used.writtenBytes),
      redisCommands: used.redisCommands / answers.sent,
      statements: used.statements / answers.sent,
    },
  ];
};

type Task = (world: SteadyWorld, server: ServerName, step: Step) => Promise<SteadyRow[]>;
interface Steps {
  readonly plan: SteadyPlan;
  readonly step: Step;
  readonly atOnce?: boolean;
}

/** One server after the other, in the opposite order every second time; or all at once. */
const inTurn = async (
  world: SteadyWorld,
  { plan, step, atOnce = plan.atOnce }: Steps,
  task: Task,
): Promise<SteadyRow[]> => {
  const order = step.round % 2 === 0 ? plan.servers.toReversed() : plan.servers;
  const rows: SteadyRow[] = [];
  if (atOnce) rows.push(...(await Promise.all(order.map((server) => task(world, server, step)))).flat());
  else for (const server of order) rows.push(...(await task(world, server, step)));
  world.usedSeconds += computeUsedSeconds(step.rate, step.seconds);
  return rows;
};

/** Adds a row per scenario, rate, round and server to `rows`, until the signal aborts. */
export const measureSteady = async (
  world: SteadyWorld,
  plan: SteadyPlan,
  rows: SteadyRow[],
): Promise<void> => {
  for (const scenario of plan.scenarios)
    await inTurn(world, { plan, step: { scenario, ...warmUp, round: 0 } }, warmUpServer);
  for (const scenario of plan.scenarios) {
    const seconds = plan.lowSeconds / plan.scenarios.length;
    const step = { scenario, rate: lowRate, round: 0, seconds };
    await inTurn(world, { plan, step, atOnce: true }, warmUpServer);
  }
  for (const scenario of plan.scenarios) {
    for (const rate of plan.rates) {
      for (let round = 1; round <= plan.rounds; round++) {
        const step = { scenario, rate, round, seconds: plan.seconds };
        const found = await inTurn(world, { plan, step }, measureServer);
        rows.push(...found);
        for (const { server, p50Ms, serverUs, redisUs, postgresUs } of found)
          world.live.print(
            `  ${scenario} at ${rate}/s, ${server.padEnd(17)} p50 ${p50Ms.toFixed(2)} ms, ` +
              `CPU ${(serverUs + redisUs + postgresUs).toFixed(0)} µs`,
          );
      }
    }
  }
};

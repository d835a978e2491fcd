/**
 * Measures servers on the same stores: what they use while nothing happens, and for one request.
 *
 * Figures are CPU time of all servers together and of the stores, the voluntary context switches of the
 * servers' threads (wake-ups), and the commands that Redis ran, those inside functions included. Called by
 * the fleet command.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { hasProc, readCpuTime } from '../machine/cpu.ts';
import { parseMetric, readMetrics } from '../measure/moments.ts';
import type { ServerProcess } from '../servers/process.ts';
import type { Stores } from '../servers/stores.ts';
import { driveFleet, type FleetAnswers, type FleetOrder } from './drive.ts';

export interface Fleet {
  readonly servers: readonly ServerProcess[];
  /** `null` for servers that use none. */
  readonly stores: Stores | null;
}

/** What was used between two readings. */
export interface Used {
  readonly seconds: number;
  readonly serverUs: number;
  readonly redisUs: number;
  readonly postgresUs: number;
  readonly wakeUps: number;
  readonly redisCommands: number;
  /** Entities that the servers read from the hot store. */
  readonly loads: number;
}

type Reading = Omit<Used, 'seconds'> & { readonly atMs: number };

/** Times that the threads of a process gave up the core, because they waited; 0 without /proc. */
const readWakeUps = ({ child }: ServerProcess): number => {
  if (!hasProc) return 0;
  const folder = `/proc/${child.pid}/task`;
  return readdirSync(folder)
    .map((thread) => readFileSync(`${folder}/${thread}/status`, 'utf8'))
    .map((text) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0))
    .reduce((sum, one) => sum + one, 0);
};

const readRedisCommands = async ({ redis }: Stores): Promise<number> => {
  if (redis === null) return 0;
  const client = new Redis(redis.url);
  const text = await client.info('commandstats').finally(() => client.disconnect());
  return [...text.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
};

const readLoads = async (servers: readonly ServerProcess[]): Promise<number> => {
  const texts = await Promise.all(servers.map(readMetrics));
  return texts.reduce((sum, text) => sum + parseMetric(text, 'rollcall_entity_loads_total'), 0);
};

const read = async ({ servers, stores }: Fleet): Promise<Reading> => {
  const loads = stores === null ? 0 : await readLoads(servers);
  const redisCommands = stores === null ? 0 : await readRedisCommands(stores);
  const times = await Promise.all(servers.map(({ child }) => readCpuTime(child)));
  return {
    atMs: performance.now(),
    serverUs: times.reduce((sum, { totalUs }) => sum + totalUs, 0),
    redisUs: stores?.redisUs() ?? 0,
    postgresUs: stores?.postgresUs() ?? 0,
    wakeUps: servers.reduce((sum, server) => sum + readWakeUps(server), 0),
    redisCommands,
    loads,
  };
};

const subtract = (to: Reading, from: Reading): Used => ({
  seconds: (to.atMs - from.atMs) / 1_000,
  serverUs: to.serverUs - from.serverUs,
  redisUs: to.redisUs - from.redisUs,
  postgresUs: to.postgresUs - from.postgresUs,
  wakeUps: to.wakeUps - from.wakeUps,
  redisCommands: to.redisCommands - from.redisCommands,
  loads: to.loads - from.loads,
});

/** What the fleet uses during `task`. */
const watch = async <Result>(
  fleet: Fleet,
  task: () => Promise<Result>,
): Promise<{ readonly used: Used; readonly result: Result }> => {
  const before = await read(fleet);
  const result = await task();
  return { used: subtract(await read(fleet), before), result };
};

/** What the fleet uses while there are no requests. */
export const measureIdle = async (fleet: Fleet, seconds: number): Promise<Used> =>
  (await watch(fleet, () => pause(seconds * 1_000))).used;

/** What the fleet uses for the requests of the order; the flush of the last second is part of it. */
export const measureLoad = async (
  fleet: Fleet,
  order: Omit<FleetOrder, 'urls'>,
): Promise<{ readonly used: Used; readonly answers: FleetAnswers }> => {
  const urls = fleet.servers.map(({ url }) => url);
  const { used, result } = await watch(fleet, () => driveFleet({ ...order, urls }));
  return { used, answers: result };
};

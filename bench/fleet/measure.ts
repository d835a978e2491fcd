/**
 * Measures servers on the same stores: what they use while nothing happens, and for one request.
 *
 * Figures are CPU time of all servers together and of the stores, the voluntary context switches of the
 * servers' threads (wake-ups), and the commands that Redis ran, those inside functions included.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { driveFleet, type FleetAnswers, type FleetOrder } from '../load/schedule.ts';
import { hasProc, readCpuTime, readWrittenBytes } from '../machine/cpu.ts';
import { parseMetric, readMetrics } from '../measure/moments.ts';
import type { ServerProcess } from '../servers/process.ts';
import type { Stores } from '../servers/stores.ts';

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
  /** Of Postgres; 0 where it does not count them. */
  readonly statements: number;
  /** Sent to the disk by servers and stores. */
  readonly writtenBytes: number;
}

interface Times extends Pick<Used, 'serverUs' | 'redisUs' | 'postgresUs' | 'wakeUps' | 'writtenBytes'> {
  readonly atMs: number;
}
type Counts = Pick<Used, 'redisCommands' | 'loads' | 'statements'>;

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
  const texts = await Promise.all(servers.filter(({ adminUrl }) => adminUrl !== '').map(readMetrics));
  return texts.reduce((sum, text) => sum + parseMetric(text, 'rollcall_entity_loads_total'), 0);
};

/** What only the servers and stores themselves know: they spend time to answer. */
const readCounts = async ({ servers, stores }: Fleet): Promise<Counts> => ({
  loads: stores === null ? 0 : await readLoads(servers),
  redisCommands: stores === null ? 0 : await readRedisCommands(stores),
  statements: (await stores?.postgres?.statements()) ?? 0,
});

const readTimes = async ({ servers, stores }: Fleet): Promise<Times> => {
  const times = await Promise.all(servers.map(({ child }) => readCpuTime(child)));
  const written = servers.map(({ child }) => readWrittenBytes(child.pid ?? 0));
  return {
    atMs: performance.now(),
    serverUs: times.reduce((sum, { totalUs }) => sum + totalUs, 0),
    redisUs: stores?.redisUs() ?? 0,
    postgresUs: stores?.postgresUs() ?? 0,
    wakeUps: servers.reduce((sum, server) => sum + readWakeUps(server), 0),
    writtenBytes: written.reduce((sum, bytes) => sum + bytes, stores?.writtenBytes() ?? 0),
  };
};

type Numbers = Readonly<Record<string, number>>;
const subtract = <Reading extends object>(to: Reading, from: Reading): Reading =>
  Object.fromEntries(
    Object.entries(to as Numbers).map(([name, value]) => [name, value - ((from as Numbers)[name] ?? 0)]),
  ) as Reading;

/** What the fleet uses during `task`: its times from `begun` on, its counts from the start. */
const watch = async <Result>(
  fleet: Fleet,
  task: (begun: () => void) => Promise<Result>,
): Promise<{ readonly used: Used; readonly result: Result }> => {
  const counts = await readCounts(fleet);
  let times = readTimes(fleet);
  const result = await task(() => {
    times = readTimes(fleet);
  });
  const { atMs, ...used } = subtract(await readTimes(fleet), await times);
  return { used: { seconds: atMs / 1_000, ...used, ...subtract(await readCounts(fleet), counts) }, result };
};

/** What the fleet uses while there are no requests. */
export const measureIdle = async (fleet: Fleet, seconds: number): Promise<Used> =>
  (await watch(fleet, () => pause(seconds * 1_000))).used;

/**
 * What the fleet uses for the requests of the order. With a lead, its counts are those of all requests sent.
 */
export const measureLoad = async (
  fleet: Fleet,
  order: Omit<FleetOrder, 'urls'>,
): Promise<{ readonly used: Used; readonly answers: FleetAnswers }> => {
  const urls = fleet.servers.map(({ url }) => url);
  const { used, result } = await watch(fleet, (begun) => driveFleet({ ...order, urls }, begun));
  return { used, answers: result };
};

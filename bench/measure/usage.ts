/**
 * What servers and their stores use: while nothing happens, for the requests of a load, or between any two
 * readings.
 *
 * Figures are CPU time of all servers together and of the stores, the voluntary context switches of the
 * servers' threads (wake-ups), bytes to the disk, and the commands that Redis ran, those inside functions
 * included.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { driveFleet, type FleetAnswers, type FleetOrder } from '../load/schedule.ts';
import { hasProc, readCpuTime, readResidentBytes, readWrittenBytes } from '../machine/cpu.ts';
import { sumOf } from '../report/statistics.ts';
import type { ServerProcess } from '../servers/process.ts';
import type { Stores } from '../servers/stores.ts';
import { parseMetric, readMetrics } from './metrics.ts';

export interface Fleet {
  readonly servers: readonly ServerProcess[];
  /** `null` for servers that use none. */
  readonly stores: Stores | null;
}

/** What was used between two readings. */
export type UsedTimes = Omit<Awaited<ReturnType<typeof readTimes>>, 'atMs'> & { readonly seconds: number };
export type Used = UsedTimes & Awaited<ReturnType<typeof readCounts>>;

/** Times that the threads of a process gave up the core, because they waited; 0 without /proc. */
const readWakeUps = ({ child }: ServerProcess): number => {
  if (!hasProc) return 0;
  const folder = `/proc/${child.pid}/task`;
  const texts = readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/status`, 'utf8'));
  return sumOf(texts, (text) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0));
};

const readRedisCommands = async ({ redis }: Stores): Promise<number> => {
  if (redis === null) return 0;
  const client = new Redis(redis.url);
  const text = await client.info('commandstats').finally(() => client.disconnect());
  return sumOf([...text.matchAll(/:calls=(\d+)/g)], ([, calls]) => Number(calls));
};

/** What only the servers and stores themselves know: they spend time to answer. */
const readCounts = async ({ servers, stores }: Fleet) => {
  if (stores === null) return { redisCommands: 0, loads: 0, statements: 0 };
  const metrics = await Promise.all(servers.filter(({ adminUrl }) => adminUrl !== '').map(readMetrics));
  return {
    /** Entities that the servers read from the hot store. */
    loads: sumOf(metrics, (text) => parseMetric(text, 'rollcall_entity_loads_total')),
    redisCommands: await readRedisCommands(stores),
    /** Of Postgres; 0 where it does not count them. */
    statements: (await stores.postgres?.statements()) ?? 0,
  };
};

const readTimes = async ({ servers, stores }: Fleet) => {
  const atMs = performance.now();
  const stored = { redisUs: stores?.redisUs() ?? 0, postgresUs: stores?.postgresUs() ?? 0 };
  const times = await Promise.all(servers.map(({ child }) => readCpuTime(child)));
  const written = sumOf(servers, ({ child }) => readWrittenBytes(child.pid ?? 0));
  return {
    ...{ atMs, ...stored },
    serverUs: sumOf(times, ({ totalUs }) => totalUs),
    /** Of the servers' event loops; 0: unknown. */
    mainUs: sumOf(times, ({ mainUs }) => mainUs),
    wakeUps: sumOf(servers, readWakeUps),
    /** Sent to the disk by servers and stores. */
    writtenBytes: written + (stores?.writtenBytes() ?? 0),
  };
};

const subtract = <Reading extends object>(to: Reading, from: Reading): Reading => {
  const before = from as Readonly<Record<string, number>>;
  const after = Object.entries(to as Readonly<Record<string, number>>);
  return Object.fromEntries(after.map(([name, value]) => [name, value - (before[name] ?? 0)])) as Reading;
};

/** Begins to measure; the returned function resolves to what was used since then. */
export const watchTimes = (fleet: Fleet): (() => Promise<UsedTimes>) => {
  const from = readTimes(fleet);
  // Where a server has ended, the caller learns it below.
  from.catch(() => {});
  return async () => {
    const { atMs, ...used } = subtract(await readTimes(fleet), await from);
    return { seconds: atMs / 1_000, ...used };
  };
};

/** What the fleet uses during `task`: its times from `begun` on, its counts from the start. */
const watch = async <Result>(
  fleet: Fleet,
  task: (begun: () => void) => Promise<Result>,
): Promise<{ readonly used: Used; readonly result: Result }> => {
  const counts = await readCounts(fleet);
  let readUsed = watchTimes(fleet);
  const result = await task(() => {
    readUsed = watchTimes(fleet);
  });
  const used = await readUsed();
  return { used: { ...used, ...subtract(await readCounts(fleet), counts) }, result };
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

/** Resident memory of all servers. */
export const readMemoryBytes = (servers: readonly ServerProcess[]): number =>
  sumOf(servers, ({ child }) => readResidentBytes(child.pid ?? 0));

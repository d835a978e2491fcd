/**
 * Measures one size of the directory on one kind of stores: memory of each process, disk, start-up, and CPU
 * per request. Each size has stores of its own, filled by copies of one imported bot.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openStores as openOwnStores } from '../../storage/open.ts';
import { measureLoad } from '../fleet/measure.ts';
import { copyBots, fillBots, toGrownId } from '../growth/fill.ts';
import { listTree, readProcessUs, readProportionalBytes, readResidentBytes } from '../machine/cpu.ts';
import { readFolderBytes } from '../machine/disk.ts';
import { parseMetric, readMetrics } from '../measure/moments.ts';
import type { Live } from '../report/live.ts';
import { computeSpread } from '../report/statistics.ts';
import { createDirectory, type Directory } from '../scenarios/directory.ts';
import { makeNames } from '../search/names.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, type Folder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { runAtOnce } from '../shared/at-once.ts';
import { type ClientRequest, createClient } from '../shared/http-client.ts';
import type { MeasuredSize, Needs } from './model.ts';

export interface SizeOptions {
  readonly listings: number;
  readonly kind: Stores['kind'];
  readonly live: Live;
}

interface World {
  readonly options: SizeOptions;
  readonly folder: Folder;
  readonly stores: Stores;
  readonly directory: Directory;
  /** Listings beside those of the directory. */
  readonly copies: number;
}

const bots = 1_000;
const users = 200;
/** So many listings more are then read, spread over all: memory grows with those that are in use. */
const moreInUse = 10_000;
const atOnce = 32;
const warmUpRounds = 16;
/** Of starts and of CPU the median counts: other work on the machine disturbs some of the times. */
const timesMeasured = { start: 3, cpu: 5 } as const;
const quietMs = 5_000;
const mib = 2 ** 20;
/** What is asked, how often a second. */
const loads = [
  { scenario: 'read', rate: 50 },
  { scenario: 'read', rate: 200 },
  { scenario: 'stats', rate: 50 },
  { scenario: 'stats', rate: 200 },
] as const;
const loadSeconds = 8;
/** A node that takes less of a core for that long has done what its start left: indexes of search, boards. */
const rest = { shareMax: 0.06, milliseconds: 3_000, waitMsMax: 300_000 };

const fill = async ({ options, folder, stores, directory, copies: count }: World): Promise<void> => {
  const { live, kind } = options;
  await importDirectory(folder, { directory, stores: stores.rollcall });
  const copies = { template: directory.bots[0]?.id ?? '', count, makeNames };
  const onBatch = (done: number): void => live.show(`${done} of ${count} bots …`);
  if (kind === 'redis') return fillBots(stores.rollcall.DATABASE_URL ?? '', copies, onBatch);
  const config = { dataDir: folder.dataDir, redisUrl: [], databaseUrl: '' };
  const opened = await openOwnStores(config, { clock: Date.now, onWarning: () => {} });
  try {
    await copyBots(opened.sql, copies, onBatch);
    await opened.sql`vacuum analyze`;
  } finally {
    await opened.close();
  }
};

interface PathRequest extends ClientRequest {
  readonly path: string;
}

const askAll = async ({ url }: ServerProcess, requests: readonly PathRequest[]): Promise<void> => {
  const client = createClient(atOnce);
  await runAtOnce(requests, atOnce, async ({ path, ...request }) => {
    const { status } = await client.ask(url + path, request);
    if (status !== 200) throw new Error(`${path}: ${status}`);
  }).finally(client.close);
};

/** Reads so many copies once, spread evenly. */
const readCopies = (server: ServerProcess, copies: number): Promise<void> =>
  askAll(
    server,
    Array.from({ length: moreInUse }, (_, index) => ({
      path: `/bots/${toGrownId(Math.floor((index / moreInUse) * copies))}`,
    })),
  );

/**
 * Reads each listing of the directory and posts its stats, again and again: the first time takes SQL, and
 * the node compiles code until it has run thousands of times.
 */
const warmUp = async (server: ServerProcess, { bots: all }: Directory): Promise<void> => {
  const requests = all.flatMap(({ id, token }): readonly PathRequest[] => [
    { path: `/bots/${id}` },
    {
      path: '/bots/stats',
      method: 'POST',
      headers: { 'Bot-Auth': token, 'Content-Type': 'application/json' },
      body: '{"servers":1}',
    },
  ]);
  for (let round = 0; round < warmUpRounds; round += 1) await askAll(server, requests);
};

const waitForRest = async ({ child: { pid = 0 } }: ServerProcess, live: Live): Promise<void> => {
  live.show('waiting until the start has done its work …');
  const endMs = performance.now() + rest.waitMsMax;
  for (let isBusy = true; isBusy; ) {
    if (performance.now() > endMs) throw new Error(`the node is not at rest in ${rest.waitMsMax} ms`);
    const before = readProcessUs(pid);
    await sleep(rest.milliseconds);
    isBusy = readProcessUs(pid) - before > rest.shareMax * rest.milliseconds * 1_000;
  }
};

/** How often jobs went through all listings so far, and how long boards took in the mean. */
const readJobs = async (
  server: ServerProcess,
): Promise<{ readonly runs: number; readonly boardsSeconds: number }> => {
  const metrics = await readMetrics(server);
  const read = (what: string, job: string): number =>
    parseMetric(metrics, `rollcall_job_duration_seconds_${what}\\{job="${job}"\\}`);
  const boards = read('count', 'board_others');
  const runs = boards + read('count', 'history');
  return { runs, boardsSeconds: read('sum', 'board_others') / Math.max(1, boards) };
};

/**
 * CPU of the node and of Redis, in microseconds a request: the median of some times, the loads by turns, so
 * that a slow minute of the machine counts for all of them. Postgres still works on what was filled. A time
 * in which a job went through all listings is measured again: that is no cost of a request.
 */
const measureCpu = async (server: ServerProcess, { stores, directory, options }: World): Promise<Needs> => {
  let usedSeconds = 0;
  const measureOnce = async ({ scenario, rate }: (typeof loads)[number]): Promise<number> => {
    const order = { scenario, rate, routing: 'random', seconds: loadSeconds, leadSeconds: 4 } as const;
    const fleet = { servers: [server], stores };
    const { used, answers } = await measureLoad(fleet, { ...order, usedSeconds, directory, isUniform: true });
    usedSeconds += loadSeconds;
    if (answers.failed > 0) throw new Error(`${answers.failed} requests of ${scenario} failed`);
    return (used.serverUs + used.redisUs) / answers.requests;
  };
  const measure = async (load: (typeof loads)[number]): Promise<number> => {
    for (;;) {
      options.live.show(`${load.scenario} at ${load.rate}/s …`);
      const before = (await readJobs(server)).runs;
      const cpuUs = await measureOnce(load);
      await waitForRest(server, options.live);
      if ((await readJobs(server)).runs === before) return cpuUs;
    }
  };
  const measured = loads.map((load) => ({ ...load, times: [] as number[] }));
  for (let round = 0; round < timesMeasured.cpu; round += 1) {
    for (const load of measured) load.times.push(await measure(load));
  }
  return Object.fromEntries(
    measured.map(({ scenario, rate, times }) => [
      `CPU µs, ${scenario} ${rate}/s`,
      computeSpread(times).median,
    ]),
  );
};

const readMemory = (server: ServerProcess, { redis, postgres }: Stores): Needs => {
  const sum = (pids: readonly number[]): number =>
    pids.reduce((total, pid) => total + readProportionalBytes(pid), 0) / mib;
  return {
    'node MiB': readResidentBytes(server.child.pid ?? 0) / mib,
    ...(redis !== null && { 'Redis MiB': sum([redis.pid()]) }),
    ...(postgres !== null && { 'Postgres MiB': sum(listTree(postgres.pid())) }),
  };
};

/** What memory grows by; `null` where there are not so many listings. */
const measureInUse = async (server: ServerProcess, { copies, stores, options }: World) => {
  if (copies < moreInUse) return null;
  options.live.show(`${moreInUse} more in use …`);
  const before = readMemory(server, stores);
  await readCopies(server, copies);
  await sleep(quietMs);
  const after = readMemory(server, stores);
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]),
  );
};

/** Of the write-ahead log, whose size depends on what was written last. */
const isWal = (folder: string): boolean => folder.includes('/pg_wal');

interface Started {
  readonly server: ServerProcess;
  /** From its process' start to the answer to a first read. */
  readonly seconds: number;
}

const start = async ({ folder, stores, directory }: World): Promise<Started> => {
  const begunMs = performance.now();
  const server = await startOn(folder, { profileDir: null, stores: stores.rollcall });
  await (await fetch(`${server.url}/bots/${directory.bots[0]?.id}`)).text();
  return { server, seconds: (performance.now() - begunMs) / 1_000 };
};

/**
 * Seconds, the median of some starts. The first on filled stores does not count: it builds what later ones
 * find, such as the index of search.
 */
const measureStart = async (world: World): Promise<number> => {
  const first = await start(world);
  await waitForRest(first.server, world.options.live).finally(() => first.server.stop());
  const seconds: number[] = [];
  while (seconds.length < timesMeasured.start) {
    const started = await start(world);
    seconds.push(started.seconds);
    await started.server.stop();
  }
  return computeSpread(seconds).median;
};

const measureWorld = async (world: World): Promise<Omit<MeasuredSize, 'listings'>> => {
  const { folder, stores, options, directory } = world;
  const startSeconds = await measureStart(world);
  const { server } = await start(world);
  try {
    await warmUp(server, directory);
    await waitForRest(server, options.live);
    const cpu = await measureCpu(server, world);
    options.live.show('settling …');
    await sleep(quietMs);
    const folderOfSql = stores.postgres?.folder ?? folder.dataDir;
    const needs = {
      'start s': startSeconds,
      ...readMemory(server, stores),
      'disk MiB': readFolderBytes(folderOfSql, (parent) => !isWal(parent)) / mib,
      'WAL MiB': readFolderBytes(folderOfSql, isWal) / mib,
      'boards s': (await readJobs(server)).boardsSeconds,
      ...cpu,
    };
    return { needs, inUse: await measureInUse(server, world) };
  } finally {
    await server.stop();
  }
};

/** Fills, measures, and removes all of it. */
export const measureSize = async (options: SizeOptions): Promise<MeasuredSize> => {
  const folder = createFolder();
  const stores = await openStores(options.kind, false);
  const directory = createDirectory({ bots: Math.min(bots, options.listings), users });
  try {
    const copies = Math.max(0, options.listings - directory.bots.length);
    const world: World = { options, folder, stores, directory, copies };
    await fill(world);
    return { listings: options.listings, ...(await measureWorld(world)) };
  } finally {
    await stores.close();
    folder.remove();
  }
};

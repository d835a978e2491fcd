/**
 * `capacity`: what directories of some sizes take, a prediction for larger ones that is written before the
 * next is measured, and how well it holds.
 *
 * Measures memory of each process, disk, start-up, and CPU per request. Each size has stores of its own,
 * filled by copies of one imported bot.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  compareNeeds,
  fitModel,
  type MeasuredSize,
  type Needs,
  predict,
  type Size,
} from '../capacity/model.ts';
import { type Context, defineCommand, type Report } from '../command.ts';
import { listTree, readProcessUs, readProportionalBytes, readResidentBytes } from '../machine/cpu.ts';
import { readFolderBytes } from '../machine/disk.ts';
import { parseMetric, readMetrics } from '../measure/metrics.ts';
import { measureLoad } from '../measure/usage.ts';
import { choice, count, counts, type Values } from '../options.ts';
import type { Live } from '../report/live.ts';
import { computeSpread } from '../report/statistics.ts';
import { alignColumns, formatGrouped, tabulate } from '../report/table.ts';
import { makeNames } from '../scenarios/names.ts';
import { fillWorld, toGrownId } from '../servers/fill.ts';
import type { ServerProcess } from '../servers/process.ts';
import { type Stores, storeKinds } from '../servers/stores.ts';
import { openWorld, type World } from '../servers/world.ts';
import { runAtOnce } from '../shared/at-once.ts';
import { type ClientRequest, createClient } from '../shared/http-client.ts';

const options = {
  stores: choice(storeKinds, 'redis', 'Redis and Postgres, or its own: '),
  sizes: counts(
    [1_000, 30_000, 300_000],
    [100, 100_000_000],
    'listings of the directories that the model is made of',
  ),
  check: count(1_000_000, [0, 10_000_000], 'then one of this size is measured and compared; 0: none'),
  predict: counts([1_000_000, 10_000_000], [100, 100_000_000], 'sizes to predict'),
};

const tolerance = 0.15;
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

type PathRequest = ClientRequest & { readonly path: string };

const askAll = async ({ url }: ServerProcess, requests: readonly PathRequest[]): Promise<void> => {
  const client = createClient(atOnce);
  await runAtOnce(requests, atOnce, async ({ path, ...request }) => {
    const { status } = await client.ask(url + path, request);
    if (status !== 200) throw new Error(`${path}: ${status}`);
  }).finally(client.close);
};

/** Reads so many copies once, spread evenly. */
const readCopies = (server: ServerProcess, copies: number): Promise<void> => {
  const toId = (index: number): string => toGrownId(Math.floor((index / moreInUse) * copies));
  return askAll(
    server,
    Array.from({ length: moreInUse }, (_, index) => ({ path: `/bots/${toId(index)}` })),
  );
};

/**
 * Reads each listing of the directory and posts its stats, again and again: the first time takes SQL, and
 * the node compiles code until it has run thousands of times.
 */
const warmUp = async (server: ServerProcess, { directory }: World): Promise<void> => {
  const post = { path: '/bots/stats', method: 'POST', body: '{"servers":1}' } as const;
  const requests = directory.bots.flatMap(({ id, token }): readonly PathRequest[] => [
    { path: `/bots/${id}` },
    { ...post, headers: { 'Bot-Auth': token, 'Content-Type': 'application/json' } },
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
const readJobs = async (server: ServerProcess) => {
  const metrics = await readMetrics(server);
  const read = (what: string, job: string): number =>
    parseMetric(metrics, `rollcall_job_duration_seconds_${what}\\{job="${job}"\\}`);
  const boards = read('count', 'board_others');
  const boardsSeconds = read('sum', 'board_others') / Math.max(1, boards);
  return { runs: boards + read('count', 'history'), boardsSeconds };
};

/**
 * CPU of the node and of Redis, in microseconds a request: the median of some times, the loads by turns, so
 * that a slow minute of the machine counts for all of them. Postgres still works on what was filled. A time
 * in which a job went through all listings is measured again: that is no cost of a request.
 */
const measureCpu = async (
  server: ServerProcess,
  { stores, directory }: World,
  live: Live,
): Promise<Needs> => {
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
      live.show(`${load.scenario} at ${load.rate}/s …`);
      const before = (await readJobs(server)).runs;
      const cpuUs = await measureOnce(load);
      await waitForRest(server, live);
      if ((await readJobs(server)).runs === before) return cpuUs;
    }
  };
  const measured = loads.map((load) => ({ load, times: [] as number[] }));
  for (let round = 0; round < timesMeasured.cpu; round += 1)
    for (const { load, times } of measured) times.push(await measure(load));
  const toName = ({ scenario, rate }: (typeof loads)[number]): string => `CPU µs, ${scenario} ${rate}/s`;
  return Object.fromEntries(measured.map(({ load, times }) => [toName(load), computeSpread(times).median]));
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

/** What memory grows by. */
const measureInUse = async (server: ServerProcess, { stores }: World, copies: number): Promise<Needs> => {
  const before = readMemory(server, stores);
  await readCopies(server, copies);
  await sleep(quietMs);
  const grown = Object.entries(readMemory(server, stores));
  return Object.fromEntries(grown.map(([name, value]) => [name, value - (before[name] ?? 0)]));
};

/** Of the write-ahead log, whose size depends on what was written last. */
const isWal = (folder: string): boolean => folder.includes('/pg_wal');

/** Starts a node; the seconds until its answer to a first read. */
const startTimed = async (world: World) => {
  const begunMs = performance.now();
  const server = await world.start();
  await (await fetch(`${server.url}/bots/${world.directory.bots[0]?.id}`)).text();
  return { server, seconds: (performance.now() - begunMs) / 1_000 };
};

/**
 * Seconds, the median of some starts. The first on filled stores does not count: it builds what later ones
 * find, such as the index of search.
 */
const measureStart = async (world: World, live: Live): Promise<number> => {
  const first = await startTimed(world);
  await waitForRest(first.server, live);
  await world.end(first.server);
  const times: number[] = [];
  while (times.length < timesMeasured.start) {
    const { server, seconds } = await startTimed(world);
    times.push(seconds);
    await world.end(server);
  }
  return computeSpread(times).median;
};

/** Fills, measures, and removes all of it. */
const measureSize = async (listings: number, kind: Stores['kind'], live: Live): Promise<MeasuredSize> => {
  const world = await openWorld({ stores: kind, bots: Math.min(bots, listings), users });
  const { stores, folder, directory } = world;
  const copies = Math.max(0, listings - directory.bots.length);
  await fillWorld(world, { count: copies, makeNames, live });
  const startSeconds = await measureStart(world, live);
  const { server } = await startTimed(world);
  await warmUp(server, world);
  await waitForRest(server, live);
  const cpu = await measureCpu(server, world, live);
  live.show('settling …');
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
  live.show(`${moreInUse} more in use …`);
  const inUse = copies < moreInUse ? null : await measureInUse(server, world, copies);
  await world.close();
  return { listings, needs, inUse };
};

const formatNeed = (value = 0): string =>
  value < 100 ? value.toFixed(value < 10 ? 2 : 1) : formatGrouped(value);

type NamedSize = Size & { readonly what: string };
const describeSizes = (sizes: readonly NamedSize[], names: readonly string[]) =>
  tabulate(sizes, [
    ['', ({ what }) => what],
    ['listings', ({ listings }) => formatGrouped(listings)],
    ...names.map(
      (name) =>
        [name, ({ needs }: NamedSize) => (needs[name] === undefined ? '' : formatNeed(needs[name]))] as const,
    ),
  ]);

const describeInUse = ({ listings, inUse }: MeasuredSize): readonly string[] => {
  const needs = Object.entries(inUse ?? {}).map(([name, value]) => `${name} ${formatNeed(value)}`);
  return inUse === null
    ? []
    : [`${formatGrouped(listings)}: ${formatGrouped(moreInUse)} more in use: ${needs.join(', ')}`];
};

const run = async (given: Values<typeof options>, { live, report }: Context): Promise<void> => {
  const measured: MeasuredSize[] = [];
  const rows: NamedSize[] = [];
  const [faults, figures]: [string[], Record<string, unknown>] = [[], { kind: given.stores, measured }];
  report((): Report => {
    const names = Object.keys(measured[0]?.needs ?? {});
    return { parts: [describeSizes(rows, names), ...measured.flatMap(describeInUse)], figures, faults };
  });
  const measure = async (listings: number): Promise<MeasuredSize> => {
    const size = await measureSize(listings, given.stores, live);
    rows.push({ what: 'measured', ...size });
    live.print(`measured ${formatGrouped(listings)}`);
    return size;
  };
  for (const listings of given.sizes) measured.push(await measure(listings));
  const model = fitModel(measured);
  const predictions = given.predict.map((listings) => ({ what: 'predicted', ...predict(model, listings) }));
  rows.push(...predictions);
  Object.assign(figures, { model, predictions });
  // Before the next is measured.
  live.print(alignColumns(describeSizes(predictions, Object.keys(model))));
  if (given.check === 0) return;
  const checked = await measure(given.check);
  const ratios = compareNeeds(checked.needs, predict(model, given.check).needs);
  rows.push({ what: 'measured ÷ predicted', listings: given.check, needs: ratios });
  Object.assign(figures, { checked, ratios });
  for (const [name, ratio] of Object.entries(ratios))
    if (Math.abs(ratio - 1) > tolerance) faults.push(`${name} is ${ratio.toFixed(2)} of what was predicted`);
};

export const capacity = defineCommand({
  name: 'capacity',
  about: 'memory, disk and CPU at 1,000 to 1,000,000 listings, and what larger ones take',
  more: `\
Memory is that of each process under a load on 1,000 listings; of Redis and Postgres, what they share counts
once. Disk is the folder of Postgres, or the data folder, without the write-ahead log, which stands apart. CPU
is of the node and of Redis. What 10,000 listings more in use take is printed beside. Exits with 1 when a
prediction is off by more than 15 %.`,
  options,
  run,
});

/**
 * One day of a directory on one kind of stores: drives it through the timeline, watches memory, disk and
 * jobs, and judges in the end as `prove` does.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readFilePagesBytes, readResidentBytes } from '../machine/cpu.ts';
import { readFolderBytes } from '../machine/disk.ts';
import { readMetrics } from '../measure/moments.ts';
import { nowMs } from '../prove/client-log.ts';
import { type OwnNodes, startOwn } from '../prove/own-servers.ts';
import { prove } from '../prove/prove.ts';
import type { ProveLog } from '../prove/prove-log.ts';
import type { Proof } from '../prove/verdict.ts';
import type { Live } from '../report/live.ts';
import { createDirectory } from '../scenarios/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createRandom } from '../shared/random.ts';
import { computeGrowths, computeP99, type Jobs, type MemorySample, readJobs } from './figures.ts';
import { missJobs } from './missed-jobs.ts';
import { firstTenth, lastTenth, moments, nameOf, paceAt, steadyFrom } from './timeline.ts';

export interface DayOptions {
  /** Nodes on a Redis and a Postgres; 0: one on embedded stores. */
  readonly nodes: number;
  /** How long a day is. */
  readonly minutes: number;
  /** Restarts and the month's end are on the first; memory is judged by the last two. */
  readonly days: number;
  /** The most requests a second. */
  readonly rate: number;
  readonly seed: number;
  readonly live: Live;
  readonly stop: AbortSignal;
}

/** Resident bytes of a node. */
interface Memory {
  /** The most at any time, garbage included. */
  readonly most: number;
  /** What is in use while nothing changes: the mean of the last day. */
  readonly bytes: number;
  /** The growth of that from each day to the next, as a share. */
  readonly growths: readonly number[];
  /** The growth of what is not pages of files, as a share of the same. */
  readonly ownGrowths: readonly number[];
  readonly samples: readonly MemorySample[];
}

export interface Day {
  readonly proof: Proof;
  /** Milliseconds, of equal rates. */
  readonly p99: { readonly first: number; readonly last: number };
  /** Of each node. */
  readonly memory: readonly Memory[];
  readonly disk: { readonly beforeBytes: number; readonly afterBytes: number };
  readonly jobs: Jobs;
}

const bots = 60;
const users = 2_000;
/** Before the first day: code is compiled, and caches are filled. */
const warmUpShare = 0.05;
const tickMs = 500;
/**
 * Between two looks at what memory is in use, as a share of the day. Without a collection before each, memory
 * is the moment in V8's cycle: garbage of minutes waits in the old generation until that has doubled.
 */
const lookEvery = 0.005;
const collector = fileURLToPath(new URL('./collect-garbage.ts', import.meta.url));
/** Every node shows an adjustment of SQL after that. */
const shownMs = 5_000;

interface World {
  readonly options: DayOptions;
  readonly servers: OwnNodes;
  /** Of the first day, after the warm-up; infinite before it is known. */
  startMs: number;
  /** Of a day. */
  readonly lengthMs: number;
  /** Of each node, see `Memory`. */
  readonly most: number[];
  readonly samples: MemorySample[][];
  /** What the nodes reported before they stopped, and at the end. */
  readonly metrics: string[];
}

/** Of the days that are over. */
const computeShare = ({ startMs, lengthMs }: Pick<World, 'startMs' | 'lengthMs'>): number =>
  (nowMs() - startMs) / lengthMs;

const takeMetrics = async ({ servers, metrics }: World): Promise<void> => {
  metrics.push(...(await Promise.all(servers.nodes.map(readMetrics))));
};

/* ---------------------------------------------------------- what happens */

type Happening = (world: World, log: ProveLog) => Promise<void>;

const restartOne: Happening = async (world) => {
  await takeMetrics(world);
  await world.servers.restart(0);
};

/** One node after the other, as for a new version. */
const upgrade: Happening = async (world) => {
  const { servers } = world;
  for (const node of servers.nodes.keys()) {
    await takeMetrics(world);
    await servers.restart(node, node === 0 ? () => missJobs(servers) : undefined);
  }
};

/** The reset of all votes, by the operator's listener. */
const endMonth: Happening = async ({ servers }, log) => {
  const token = readFileSync(join(servers.dataDir, 'operator-token'), 'utf8').trim();
  const headers = { Authorization: `Operator ${token}`, 'Content-Type': 'application/json' };
  const fromMs = nowMs();
  const url = `${servers.nodes[0]?.adminUrl}/votes/reset-all`;
  const reply = await fetch(url, { method: 'POST', headers, body: '{"confirm":"all"}' });
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  log.resets.push({ fromMs, toMs: nowMs() + shownMs });
};

const happenings: readonly { readonly at: number; readonly name: string; readonly run: Happening }[] = [
  { at: moments.restart, name: 'restart', run: restartOne },
  { at: moments.upgrade, name: 'upgrade', run: upgrade },
  { at: moments.monthsEnd, name: "month's end", run: endMonth },
];

const readMemory = ({ child }: ServerProcess): number => readResidentBytes(child.pid ?? 0);

/** What is in use, a moment after all garbage was collected. */
const lookAtMemory = async ({ servers, samples }: World, at: number): Promise<void> => {
  for (const { child } of servers.nodes) child.kill('SIGUSR2');
  await sleep(tickMs);
  for (const [node, server] of servers.nodes.entries()) {
    const fileBytes = readFilePagesBytes(server.child.pid ?? 0);
    samples[node]?.push({ at, bytes: readMemory(server), fileBytes });
  }
};

const runTimeline = async (world: World, log: ProveLog, isFull: () => boolean): Promise<void> => {
  const { servers, most, options } = world;
  const { live, stop, days } = options;
  const left = [...happenings];
  let lookAt = steadyFrom;
  for (let at = computeShare(world); at < days; at = computeShare(world)) {
    if (stop.aborted) throw new Error('interrupted');
    if (isFull()) throw new Error('the log is full: give a lower rate or fewer minutes');
    live.show(`${nameOf(at)}, ${(at * 100).toFixed(0)} % of a day`);
    for (const [node, server] of servers.nodes.entries())
      most[node] = Math.max(most[node] ?? 0, readMemory(server));
    // The last tenth is left alone, for the times of its requests.
    if (at % 1 >= lastTenth.from) lookAt = Math.ceil(at) + steadyFrom;
    else if (at >= lookAt) {
      lookAt += lookEvery;
      await lookAtMemory(world, at);
    }
    while (left[0] !== undefined && at >= left[0].at) {
      const { name, run } = left.shift() as (typeof happenings)[number];
      const fromMs = nowMs();
      await run(world, log);
      live.print(`  ${name}: ${((nowMs() - fromMs) / 1_000).toFixed(1)} s`);
    }
    await sleep(tickMs);
  }
  await takeMetrics(world);
};

/* ------------------------------------------------------------ the figures */

const readDiskBytes = ({ stores, dataDir }: OwnNodes): number =>
  [dataDir, stores.redis?.folder, stores.postgres?.folder]
    .filter((folder) => folder !== undefined)
    .reduce((sum, folder) => sum + readFolderBytes(folder), 0);

const computeTenths = (world: World, { stats, clicks, votes }: ProveLog): Day['p99'] => {
  const { startMs, lengthMs, options } = world;
  const operations = [...stats, ...clicks, ...votes];
  const of = (day: number, { from, to }: { readonly from: number; readonly to: number }): number => {
    const dayMs = startMs + day * lengthMs;
    return computeP99(operations, { fromMs: dayMs + from * lengthMs, toMs: dayMs + to * lengthMs });
  };
  return { first: of(0, firstTenth), last: of(options.days - 1, lastTenth) };
};

const toMemory = (most: number, samples: readonly MemorySample[]): Memory => {
  const last = samples.filter(({ at }) => Math.floor(at) === Math.floor(samples.at(-1)?.at ?? 0));
  const bytes = last.reduce((sum, one) => sum + one.bytes, 0) / Math.max(1, last.length);
  const ownGrowths = computeGrowths(samples, (one) => one.bytes - one.fileBytes);
  return { most, bytes, growths: computeGrowths(samples), ownGrowths, samples };
};

/** Resolves when the days are over and judged. Rejects when they cannot be driven to their end. */
export const runDay = async (options: DayOptions): Promise<Day> => {
  const directory = createDirectory({ bots, users });
  const more = { NODE_OPTIONS: `--import=${collector}` };
  const servers = await startOwn({ directory, nodes: options.nodes, more });
  const lengthMs = options.minutes * 60_000;
  const world: World = {
    options,
    servers,
    startMs: Number.POSITIVE_INFINITY,
    lengthMs,
    most: [],
    samples: servers.nodes.map(() => []),
    metrics: [],
  };
  try {
    const { urls, waitMs } = servers;
    const beforeBytes = readDiskBytes(servers);
    let log: ProveLog | undefined;
    const proof = await prove({
      ...{ urls, waitMs, directory, bots, isDirect: true, clocksMs: 5, firstId: 1, historyMs: 0 },
      random: createRandom(options.seed),
      rate: options.rate,
      pace: () => paceAt(computeShare(world)),
      meanwhile: (isFull, driven) => {
        log = driven;
        world.startMs = nowMs() + warmUpShare * lengthMs;
        return runTimeline(world, driven, isFull);
      },
      show: (line) => options.live.show(line),
    });
    return {
      proof,
      p99: computeTenths(world, log as unknown as ProveLog),
      memory: world.samples.map((samples, node) => toMemory(world.most[node] ?? 0, samples)),
      disk: { beforeBytes, afterBytes: readDiskBytes(servers) },
      jobs: readJobs(world.metrics),
    };
  } finally {
    await servers.close();
  }
};

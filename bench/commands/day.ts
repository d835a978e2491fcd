/**
 * `day`: a directory's day in twenty minutes, on each kind of stores: peaks, a hug of one bot, a restart, an
 * upgrade, month's end; judged as by `prove`, and by memory, latency, disk and jobs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStores } from '../../storage/open.ts';
import { openServerSql } from '../../storage/sql/server.ts';
import { type Context, defineCommand, type Report } from '../command.ts';
import { computeGrowths, computeP99, type MemorySample, readJobs } from '../day/figures.ts';
import { firstTenth, lastTenth, moments, nameOf, paceAt, steadyFrom } from '../day/timeline.ts';
import { readFilePagesBytes, readResidentBytes } from '../machine/cpu.ts';
import { readFolderBytes } from '../machine/disk.ts';
import { readMetrics } from '../measure/metrics.ts';
import { count, names, type Values } from '../options.ts';
import { nowMs } from '../prove/client-log.ts';
import { type OwnNodes, startOwn } from '../prove/own-servers.ts';
import { prove } from '../prove/prove.ts';
import type { ProveLog } from '../prove/prove-log.ts';
import { listLies } from '../prove/table.ts';
import type { ServerProcess } from '../servers/process.ts';
import { type Stores, storeKinds } from '../servers/stores.ts';
import { createRandom } from '../shared/random.ts';

const options = {
  minutes: count(20, [1, 24 * 60], 'how long a day is'),
  days: count(3, [1, 100], 'how many days'),
  rate: count(250, [10, 5_000], 'the most requests a second, in the hug'),
  stores: names(storeKinds, 'one after the other: '),
  nodes: count(2, [1, 8], 'nodes on Redis and Postgres'),
  seed: count(1, [0, 1_000_000_000], 'of the load'),
};

const growthMax = 0.02;
const slowerMax = 1.1;
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
const collector = fileURLToPath(new URL('../programs/collect-garbage.ts', import.meta.url));
/** Every node shows an adjustment of SQL after that. */
const shownMs = 5_000;

interface DayOptions extends Omit<Values<typeof options>, 'stores'>, Pick<Context, 'live' | 'stop'> {
  /** Of the nodes. */
  readonly stores: Stores['kind'];
}

const start = async (given: DayOptions) => {
  const more = { NODE_OPTIONS: `--import=${collector}` };
  const servers = await startOwn({ bots, users, nodes: given.stores === 'redis' ? given.nodes : 0, more });
  return {
    given,
    servers,
    lengthMs: given.minutes * 60_000,
    /** Of the first day, after the warm-up; infinite before it is known. */
    startMs: Number.POSITIVE_INFINITY,
    /** Resident bytes of each node: the most at any time, garbage included. */
    most: servers.nodes.map(() => 0),
    samples: servers.nodes.map((): MemorySample[] => []),
    /** What the nodes reported before they stopped, and at the end. */
    metrics: [] as string[],
  };
};
type Run = Awaited<ReturnType<typeof start>>;

/** Of the days that are over. */
const computeShare = ({ startMs, lengthMs }: Run): number => (nowMs() - startMs) / lengthMs;

const takeMetrics = async ({ servers, metrics }: Run): Promise<void> => {
  metrics.push(...(await Promise.all(servers.nodes.map(readMetrics))));
};

/* ---------------------------------------------------------- what happens */

type Happening = (run: Run, log: ProveLog) => Promise<void>;

const restartOne: Happening = async (run) => {
  await takeMetrics(run);
  await run.servers.restart(0);
};

/**
 * Makes every job of the calendar due, as after a month without any node: the next start finds missed runs.
 * The only node of embedded stores must be stopped.
 */
const missJobs = async ({ world: { stores, folder } }: OwnNodes): Promise<void> => {
  const address = stores.rollcall.DATABASE_URL ?? '';
  const config = { dataDir: folder.dataDir, redisUrl: [], databaseUrl: '' };
  const opened =
    address === ''
      ? await openStores(config, { clock: Date.now, onWarning: () => {} })
      : await openServerSql(address);
  const setBack = opened.sql`update job_runs set due_at = due_at - interval '40 days'`;
  await setBack.finally(() => opened.close());
};

/** One node after the other, as for a new version. */
const upgrade: Happening = async (run) => {
  const { servers } = run;
  for (const node of servers.nodes.keys()) {
    await takeMetrics(run);
    await servers.restart(node, node === 0 ? () => missJobs(servers) : undefined);
  }
};

/** The reset of all votes, by the operator's listener. */
const endMonth: Happening = async ({ servers }, log) => {
  const token = readFileSync(join(servers.world.folder.dataDir, 'operator-token'), 'utf8').trim();
  const headers = { Authorization: `Operator ${token}`, 'Content-Type': 'application/json' };
  const fromMs = nowMs();
  const url = `${servers.nodes[0]?.adminUrl}/votes/reset-all`;
  const reply = await fetch(url, { method: 'POST', headers, body: '{"confirm":"all"}' });
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  log.resets.push({ fromMs, toMs: nowMs() + shownMs });
};

const happenings: readonly (readonly [at: number, name: string, happen: Happening])[] = [
  [moments.restart, 'restart', restartOne],
  [moments.upgrade, 'upgrade', upgrade],
  [moments.monthsEnd, "month's end", endMonth],
];

const readMemory = ({ child }: ServerProcess): number => readResidentBytes(child.pid ?? 0);

/** What is in use, a moment after all garbage was collected. */
const lookAtMemory = async ({ servers, samples }: Run, at: number): Promise<void> => {
  for (const { child } of servers.nodes) child.kill('SIGUSR2');
  await sleep(tickMs);
  for (const [node, server] of servers.nodes.entries()) {
    const fileBytes = readFilePagesBytes(server.child.pid ?? 0);
    samples[node]?.push({ at, bytes: readMemory(server), fileBytes });
  }
};

const runTimeline = async (run: Run, log: ProveLog, isFull: () => boolean): Promise<void> => {
  const { servers, most, given } = run;
  const left = [...happenings];
  let lookAt = steadyFrom;
  for (let at = computeShare(run); at < given.days; at = computeShare(run)) {
    if (given.stop.aborted) throw new Error('interrupted');
    if (isFull()) throw new Error('the log is full: give a lower rate or fewer minutes');
    given.live.show(`${nameOf(at)}, ${(at * 100).toFixed(0)} % of a day`);
    for (const [node, server] of servers.nodes.entries())
      most[node] = Math.max(most[node] ?? 0, readMemory(server));
    // The last tenth is left alone, for the times of its requests.
    if (at % 1 >= lastTenth.from) lookAt = Math.ceil(at) + steadyFrom;
    else if (at >= lookAt) {
      lookAt += lookEvery;
      await lookAtMemory(run, at);
    }
    for (const [dueAt, name, happen] of left.slice(0, 1)) {
      if (at < dueAt) continue;
      left.shift();
      const fromMs = nowMs();
      await happen(run, log);
      given.live.print(`  ${name}: ${((nowMs() - fromMs) / 1_000).toFixed(1)} s`);
    }
    await sleep(tickMs);
  }
  await takeMetrics(run);
};

/* ------------------------------------------------------------ the figures */

const readDiskBytes = ({ stores, folder }: OwnNodes['world']): number =>
  [folder.dataDir, stores.redis?.folder, stores.postgres?.folder]
    .filter((path) => path !== undefined)
    .reduce((sum, path) => sum + readFolderBytes(path), 0);

/** The 99th percentile of the first tenth of all, and of the last: of equal rates. */
const computeTenths = ({ startMs, lengthMs, given }: Run, { stats, clicks, votes }: ProveLog) => {
  const operations = [...stats, ...clicks, ...votes];
  const of = (day: number, { from, to }: typeof firstTenth | typeof lastTenth): number => {
    const dayMs = startMs + day * lengthMs;
    return computeP99(operations, { fromMs: dayMs + from * lengthMs, toMs: dayMs + to * lengthMs });
  };
  return { first: of(0, firstTenth), last: of(given.days - 1, lastTenth) };
};

/** What is in use while nothing changes: the mean of the last day, and how it grew from day to day. */
const toMemory = (most: number, samples: readonly MemorySample[]) => {
  const last = samples.filter(({ at }) => Math.floor(at) === Math.floor(samples.at(-1)?.at ?? 0));
  const bytes = last.reduce((sum, one) => sum + one.bytes, 0) / Math.max(1, last.length);
  /** The growth of what is not pages of files, as a share of the same. */
  const ownGrowths = computeGrowths(samples, (one) => one.bytes - one.fileBytes);
  return { most, bytes, growths: computeGrowths(samples), ownGrowths, samples };
};

/** Resolves when the days are over and judged. Rejects when they cannot be driven to their end. */
export const runDay = async (given: DayOptions) => {
  const run = await start(given);
  const { servers, lengthMs } = run;
  try {
    const beforeBytes = readDiskBytes(servers.world);
    let log: ProveLog | undefined;
    const proof = await prove({
      ...{ ...servers, bots, isDirect: true, clocksMs: 5, firstId: 1, historyMs: 0, rate: given.rate },
      random: createRandom(given.seed),
      pace: () => paceAt(computeShare(run)),
      meanwhile: (isFull, driven) => {
        log = driven;
        run.startMs = nowMs() + warmUpShare * lengthMs;
        return runTimeline(run, driven, isFull);
      },
      show: given.live.show,
    });
    return {
      proof,
      p99: computeTenths(run, log as unknown as ProveLog),
      memory: run.samples.map((samples, node) => toMemory(run.most[node] ?? 0, samples)),
      disk: { beforeBytes, afterBytes: readDiskBytes(servers.world) },
      jobs: readJobs(run.metrics),
    };
  } finally {
    await servers.close();
  }
};
type Day = Awaited<ReturnType<typeof runDay>>;

/* ---------------------------------------------------------------- report */

const toMib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const toPercents = (shares: readonly number[]): string =>
  shares.map((share) => `${(share * 100).toFixed(1)} %`).join(', ') || '–';

/** What is not as it must be, in words. */
const listFaults = (kind: string, { proof, p99, memory, jobs }: Day): readonly string[] => [
  ...listLies(new Map([[kind, proof]])),
  ...[...jobs.declared].filter((job) => !jobs.succeeded.has(job)).map((job) => `the job ${job} did not run`),
  ...memory
    .map(({ growths }) => growths.at(-1) ?? 0)
    .filter((growth) => growth > growthMax)
    .map((growth) => `${kind}: memory grew by ${toPercents([growth])} in the last day`),
  ...(p99.last > slowerMax * p99.first
    ? [`${kind}: p99 was ${(p99.last / p99.first).toFixed(2)} times the first`]
    : []),
];

const describeDay = (kind: string, { proof, p99, memory, disk, jobs }: Day): readonly string[] => {
  const { posts, clicks, votes } = proof.figures;
  const acknowledged = [posts, clicks, votes].map((figures) => figures?.acknowledged ?? 0);
  return [
    `${kind}`,
    `  acknowledged: ${acknowledged[0]} posts, ${acknowledged[1]} page views, ${acknowledged[2]} votes`,
    `  lies: ${proof.lies.length}`,
    ...memory.map(
      ({ most, bytes, growths, ownGrowths }) =>
        `  memory of a node: ${toMib(bytes)} in use, from day to day ${toPercents(growths)} ` +
        `(${toPercents(ownGrowths)} without files' pages), at most ${toMib(most)} with garbage`,
    ),
    `  p99: first tenth ${p99.first.toFixed(1)} ms, last tenth ${p99.last.toFixed(1)} ms`,
    `  disk: ${toMib(disk.beforeBytes)} to ${toMib(disk.afterBytes)}`,
    `  jobs that ran: ${[...jobs.succeeded].sort().join(', ')}`,
  ];
};

const run = async (given: Values<typeof options>, { live, stop, report }: Context): Promise<void> => {
  const days = new Map<Stores['kind'], Day>();
  const { minutes, rate } = given;
  const title = `days: ${given.days}, ${minutes} minutes each, at most ${rate} requests/s`;
  report((): Report => {
    const found = [...days];
    return {
      parts: [title, ...found.flatMap(([kind, day]) => describeDay(kind, day))],
      figures: days,
      faults: found.flatMap(([kind, day]) => listFaults(kind, day)),
    };
  });
  for (const stores of given.stores) {
    live.print(stores);
    days.set(stores, await runDay({ ...given, stores, live, stop }));
  }
};

export const day = defineCommand({
  name: 'day',
  about: 'three days of a directory, 20 minutes each, on both kinds of stores',
  more: `\
A day of a directory, compressed: morning, a noon with a restart and an upgrade, a hug of one bot, evening,
a night with the reset of month's end, and the next morning. Further days are without restarts. Memory is
looked at every morning, and judged by the last two, when caches and buffers are full. In the end the log of
the clients is judged as by "prove". Exits with 1 if anything was lost or counted twice, a job did not run,
memory in use grew by more than 2 % from one day to the next, or the 99th percentile of the last tenth is
more than 1.1 times that of the first.`,
  options,
  run,
});

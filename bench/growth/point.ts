/**
 * Measures one size of the directory: start-up, throughput, activation, an outage of Postgres, the flush.
 *
 * Each size has stores of its own. The smallest stays open, and every other size is measured in turn with it:
 * figures taken at different times would compare the machine with itself.
 */
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { openServerSql } from '../../storage/sql/server.ts';
import { openLoad } from '../load/load.ts';
import type { LoadResult } from '../load/order.ts';
import { readProcessUs } from '../machine/cpu.ts';
import { parseMetric, readMetrics } from '../measure/moments.ts';
import type { Live } from '../report/live.ts';
import { computeSpread, type Spread } from '../report/statistics.ts';
import { createDirectory, type Directory, type Holder } from '../scenarios/directory.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { fillBots, toGrownId } from './fill.ts';
import { type FlushFigures, measureFlush } from './flush.ts';

/** Throughput of a size ÷ that of the smallest, round by round. */
export interface Ratios {
  readonly posts: Spread;
  readonly reads: Spread;
}

export interface Point {
  readonly entities: number;
  /** `null` for the smallest. */
  readonly ratios: Ratios | null;
  /** From starting the process to the first acknowledged post. */
  readonly startSeconds: number;
  readonly postsPerSecond: number;
  readonly postP99Ms: number;
  readonly readsPerSecond: number;
  readonly readP99Ms: number;
  /** Server CPU of a first read minus that of a second one. */
  readonly activationCpuUs: number;
  readonly outageSeconds: number;
  /** Changed entities that waited when Postgres came back. */
  readonly backlogEntities: number;
  /** The server's own metric at that time. */
  readonly lagSeconds: number;
  /** Until all of them were in SQL. */
  readonly catchUpSeconds: number;
  readonly flush: FlushFigures;
}

/** A server of one size, with its stores and directory. */
export interface World {
  readonly entities: number;
  readonly server: ServerProcess;
  readonly stores: Stores;
  readonly directory: Directory;
  /** Bots spread evenly over the directory; reads measure these, once they are live. */
  readonly sample: readonly Holder[];
  readonly startSeconds: number;
  close(): Promise<void>;
}

export interface PointOptions {
  readonly outageSeconds: number;
  readonly live: Live;
}

const posters = 1_000;
const connections = 256;
const rounds = 5;
const roundSeconds = 1;
/** As many as the smallest directory has, so that sizes differ in nothing else. */
const activated = 1_000;
const atOnce = 64;
const startMsMax = 60_000;

/** Fills a directory of this size, starts a server on it, and waits for its first acknowledged post. */
export const openWorld = async (entities: number, live: Live): Promise<World> => {
  const folder = createFolder();
  const directory = createDirectory({ bots: Math.min(posters, entities), users: connections });
  const stores = await openStores('redis', false);
  let server: ServerProcess | null = null;
  const close = async (): Promise<void> => {
    await server?.stop();
    await stores.close();
    folder.remove();
  };
  try {
    await importDirectory(folder, { directory, stores: stores.rollcall });
    const address = stores.rollcall.DATABASE_URL ?? '';
    const count = Math.max(0, entities - directory.bots.length);
    const template = directory.bots[0]?.id ?? '';
    await fillBots(address, { template, count }, (done) => live.show(`${done} of ${count} bots …`));
    const begunMs = performance.now();
    server = await startOn(folder, { profileDir: null, stores: stores.rollcall });
    await firstPost(server, directory, begunMs + startMsMax);
    const startSeconds = (performance.now() - begunMs) / 1_000;
    live.print(`  first acknowledged post after ${startSeconds.toFixed(2)} s`);
    return {
      entities,
      server,
      stores,
      directory,
      sample: takeSample(directory, entities),
      startSeconds,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

/** Measures one size, in turn with the smallest (`null`: this is the smallest). */
export const measurePoint = async (
  world: World,
  smallest: World | null,
  options: PointOptions,
): Promise<Point> => {
  const { entities, startSeconds } = world;
  const { live } = options;
  live.show('activation …');
  const activationCpuUs = await measureActivation(world.server, world.sample);
  const throughput = await beside(world, smallest, options);
  const outage = await measureOutage(options, world);
  live.show('the flush against COPY …');
  const { sql, close } = await openServerSql(world.stores.rollcall.DATABASE_URL ?? '');
  const flush = await measureFlush(sql).finally(close);
  return { entities, startSeconds, activationCpuUs, ...throughput, ...outage, flush };
};

/** Posts until one is acknowledged. */
const firstPost = async ({ url }: ServerProcess, { bots }: Directory, untilMs: number): Promise<void> => {
  const headers = { 'Bot-Auth': bots[0]?.token ?? '', 'Content-Type': 'application/json' };
  while (performance.now() < untilMs) {
    const answer = await fetch(`${url}/bots/stats`, { method: 'POST', headers, body: '{"servers":1}' });
    if (answer.ok) return;
  }
  throw new Error('no post was acknowledged within a minute of the start');
};

const takeSample = ({ bots }: Directory, entities: number): readonly Holder[] => {
  const grown = entities - bots.length;
  const count = Math.min(activated, grown);
  if (count <= 0) return bots;
  return Array.from({ length: count }, (_, index) => ({
    id: toGrownId(Math.floor((index * grown) / count)),
    token: '',
  }));
};

const createOrder = (server: ServerProcess, scenario: LoadScenarioName, round: number) => ({
  scenario,
  round,
  usedSeconds: 0,
  url: server.url,
  connections,
  rate: 0,
  placement: null,
  warmupSeconds: 0.3,
  measureSeconds: roundSeconds,
});
const unwatched = { begun: () => {}, ended: () => {} };

interface Throughput {
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly ratio: Spread | null;
}

/** Rounds of both in turn, so that a machine which is busy for a while slows both down. */
const measureThroughput = async (
  scenario: 'stats' | 'read',
  world: World,
  smallest: World | null,
): Promise<Throughput> => {
  const both = (smallest === null ? [world] : [world, smallest]).map((one) => ({
    server: one.server,
    load: openLoad('auto', 0, scenario === 'stats' ? one.directory : { ...one.directory, bots: one.sample }),
  }));
  const results: LoadResult[][] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      const turn: LoadResult[] = [];
      for (const { server, load } of both) {
        turn.push(await load.measure(createOrder(server, scenario, round), unwatched));
      }
      if (round > 0) results.push(turn);
    }
  } finally {
    await Promise.all(both.map(({ load }) => load.close()));
  }
  const own = results.flatMap(([result]) => result ?? []);
  const ratios = results.flatMap(([result, other]) =>
    result === undefined || other === undefined ? [] : [result.requestsPerSecond / other.requestsPerSecond],
  );
  return {
    perSecond: computeSpread(own.map(({ requestsPerSecond }) => requestsPerSecond)).median,
    p99Ms: computeSpread(own.map(({ latencyMs }) => latencyMs[4] ?? 0)).median,
    ratio: ratios.length === 0 ? null : computeSpread(ratios),
  };
};

const beside = async (world: World, smallest: World | null, { live }: PointOptions) => {
  live.show('posts …');
  const posts = await measureThroughput('stats', world, smallest);
  live.show('reads …');
  const reads = await measureThroughput('read', world, smallest);
  live.print(`  ${Math.round(posts.perSecond)} posts/s, ${Math.round(reads.perSecond)} reads/s`);
  return {
    ratios: posts.ratio === null || reads.ratio === null ? null : { posts: posts.ratio, reads: reads.ratio },
    postsPerSecond: posts.perSecond,
    postP99Ms: posts.p99Ms,
    readsPerSecond: reads.perSecond,
    readP99Ms: reads.p99Ms,
  };
};

/** Reads every bot of the list once, a fixed number at a time. */
const readAll = async (server: ServerProcess, bots: readonly { readonly id: string }[]): Promise<number> => {
  const pid = server.child.pid ?? 0;
  const before = readProcessUs(pid);
  for (let from = 0; from < bots.length; from += atOnce) {
    const some = bots.slice(from, from + atOnce);
    await Promise.all(some.map(async ({ id }) => (await fetch(`${server.url}/bots/${id}`)).arrayBuffer()));
  }
  return (readProcessUs(pid) - before) / bots.length;
};

const measureActivation = async (
  server: ServerProcess,
  bots: readonly { readonly id: string }[],
): Promise<number> => {
  const first = await readAll(server, bots);
  return Math.max(0, first - (await readAll(server, bots)));
};

/** Sends posts while Postgres is away, then nothing until everything is in SQL. */
const measureOutage = async ({ outageSeconds, live }: PointOptions, { server, stores, directory }: World) => {
  const load = openLoad('auto', 0, directory);
  const hot = await openRedisStore({ urls: [stores.redis?.url ?? ''], onError: () => {} });
  const waiting = async (): Promise<number> => (await hot.countBacklog()).entities;
  try {
    await stores.postgres?.stop('fast');
    const untilMs = performance.now() + outageSeconds * 1_000;
    for (let round = 10; performance.now() < untilMs; round++) {
      live.show(`Postgres is away: ${Math.ceil((untilMs - performance.now()) / 1_000)} s to go …`);
      await load.measure(createOrder(server, 'stats', round), unwatched);
    }
    const backlogEntities = await waiting();
    const lagSeconds = parseMetric(await readMetrics(server), 'rollcall_flush_lag_seconds');
    await stores.postgres?.start();
    const begunMs = performance.now();
    while ((await waiting()) > 0 && performance.now() - begunMs < startMsMax) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const catchUpSeconds = (performance.now() - begunMs) / 1_000;
    live.print(
      `  ${backlogEntities} waited after ${outageSeconds} s, gone after ${catchUpSeconds.toFixed(1)} s`,
    );
    return { outageSeconds, backlogEntities, lagSeconds, catchUpSeconds };
  } finally {
    await load.close();
    await hot.close();
  }
};

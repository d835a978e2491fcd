/**
 * Everything that is measured at one size of the directory: start-up, throughput, activation, an outage of
 * Postgres, the flush.
 *
 * Its stores are its own and end with it. Called by the growth command, one size after the other.
 */

import { openRedisStore } from '../../storage/hot/redis.ts';
import { openServerSql } from '../../storage/sql/server.ts';
import { openLoad } from '../load/load.ts';
import type { Load, LoadResult } from '../load/order.ts';
import { processTicksUs } from '../measure/cpu.ts';
import type { Live } from '../report/live.ts';
import { spreadOf } from '../report/statistics.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import { createDirectory, type Directory, type Holder } from '../servers/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../stores/stores.ts';
import { fillBots, grownId } from './fill.ts';
import { type FlushFigures, measureFlush } from './flush.ts';

export interface Point {
  readonly entities: number;
  /** From starting the process to the first acknowledged post. */
  readonly startSeconds: number;
  readonly postsPerSecond: number;
  readonly postP99Ms: number;
  readonly readsPerSecond: number;
  readonly readP99Ms: number;
  /** Server CPU of a first read, less that of a second one. */
  readonly activationCpuUs: number;
  readonly outageSeconds: number;
  /** Changed entities that waited when Postgres came back. */
  readonly backlogEntities: number;
  /** Until all of them were in SQL. */
  readonly catchUpSeconds: number;
  readonly flush: FlushFigures;
}

export interface PointOptions {
  readonly entities: number;
  readonly outageSeconds: number;
  readonly live: Live;
}

const posters = 1_000;
const connections = 256;
const rounds = 3;
const roundSeconds = 1;
const activated = 5_000;
const atOnce = 64;
const startMsMax = 60_000;

export const measurePoint = async (options: PointOptions): Promise<Point> => {
  const { entities, live } = options;
  const folder = createFolder();
  const directory = createDirectory({ bots: Math.min(posters, entities), users: connections });
  const stores = await openStores('redis', false);
  const started: ServerProcess[] = [];
  try {
    await importDirectory(folder, { directory, stores: stores.rollcall });
    const address = stores.rollcall.DATABASE_URL ?? '';
    const count = Math.max(0, entities - directory.bots.length);
    const template = directory.bots[0]?.id ?? '';
    await fillBots(address, { template, count }, (done) => live.show(`${done} of ${count} bots …`));
    const { sql, close } = await openServerSql(address);
    try {
      const begunMs = performance.now();
      const server = await startOn(folder, { profileDir: null, stores: stores.rollcall });
      started.push(server);
      await firstPost(server, directory, begunMs + startMsMax);
      const startSeconds = (performance.now() - begunMs) / 1_000;
      live.keep(`  first acknowledged post after ${startSeconds.toFixed(2)} s`);
      const measured = await underLoad(options, { server, stores, directory });
      await server.stop();
      live.show('the flush against COPY …');
      return { entities, startSeconds, ...measured, flush: await measureFlush(sql) };
    } finally {
      await close();
    }
  } finally {
    await Promise.all(started.map((server) => server.stop()));
    await stores.close();
    folder.remove();
  }
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

interface World {
  readonly server: ServerProcess;
  readonly stores: Stores;
  readonly directory: Directory;
}
type UnderLoad = Omit<Point, 'entities' | 'startSeconds' | 'flush'>;

const underLoad = async (options: PointOptions, world: World): Promise<UnderLoad> => {
  const { entities, live } = options;
  const { server, directory } = world;
  const sample = sampleOf(directory, entities);
  live.show('activation …');
  const activationCpuUs = await measureActivation(server, sample);
  const posting = openLoad('auto', 0, directory);
  const reading = openLoad('auto', 0, { ...directory, bots: sample });
  try {
    const posts = await throughput(posting, server, 'stats');
    const reads = await throughput(reading, server, 'read');
    live.keep(`  ${Math.round(posts.perSecond)} posts/s, ${Math.round(reads.perSecond)} reads/s`);
    const outage = await measureOutage(options, world, posting);
    return {
      postsPerSecond: posts.perSecond,
      postP99Ms: posts.p99Ms,
      readsPerSecond: reads.perSecond,
      readP99Ms: reads.p99Ms,
      activationCpuUs,
      ...outage,
    };
  } finally {
    await Promise.all([posting.close(), reading.close()]);
  }
};

/** Bots spread evenly over all there are; throughput is that of these, once they are live. */
const sampleOf = ({ bots }: Directory, entities: number): readonly Holder[] => {
  const grown = entities - bots.length;
  const count = Math.min(activated, grown);
  if (count <= 0) return bots;
  return Array.from({ length: count }, (_, index) => ({
    id: grownId(Math.floor((index * grown) / count)),
    token: '',
  }));
};

const orderOf = (server: ServerProcess, scenario: LoadScenarioName, round: number) => ({
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

const throughput = async (load: Load, server: ServerProcess, scenario: LoadScenarioName) => {
  const results: LoadResult[] = [];
  for (let round = 0; round <= rounds; round++) {
    const result = await load.measure(orderOf(server, scenario, round), unwatched);
    if (round > 0) results.push(result);
  }
  return {
    perSecond: spreadOf(results.map(({ requestsPerSecond }) => requestsPerSecond)).median,
    p99Ms: spreadOf(results.map(({ latencyMs }) => latencyMs[4] ?? 0)).median,
  };
};

/** Reads every one of the list once, so many at a time. */
const readAll = async (server: ServerProcess, bots: readonly { readonly id: string }[]): Promise<number> => {
  const pid = server.child.pid ?? 0;
  const before = processTicksUs(pid);
  for (let from = 0; from < bots.length; from += atOnce) {
    const some = bots.slice(from, from + atOnce);
    await Promise.all(some.map(async ({ id }) => (await fetch(`${server.url}/bots/${id}`)).arrayBuffer()));
  }
  return (processTicksUs(pid) - before) / bots.length;
};

const measureActivation = async (
  server: ServerProcess,
  bots: readonly { readonly id: string }[],
): Promise<number> => {
  const first = await readAll(server, bots);
  return Math.max(0, first - (await readAll(server, bots)));
};

/** Posts go on while Postgres is away; then nothing is sent until everything is in SQL. */
const measureOutage = async (
  { outageSeconds, live }: PointOptions,
  { server, stores }: World,
  load: Load,
) => {
  const hot = await openRedisStore({ urls: [stores.redis?.url ?? ''], onError: () => {} });
  const waiting = async (): Promise<number> => (await hot.backlog()).entities;
  await stores.postgres?.stop('fast');
  const untilMs = performance.now() + outageSeconds * 1_000;
  for (let round = 10; performance.now() < untilMs; round++) {
    live.show(`Postgres is away: ${Math.ceil((untilMs - performance.now()) / 1_000)} s to go …`);
    await load.measure(orderOf(server, 'stats', round), unwatched);
  }
  const backlogEntities = await waiting();
  await stores.postgres?.start();
  const begunMs = performance.now();
  while ((await waiting()) > 0 && performance.now() - begunMs < startMsMax) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const catchUpSeconds = (performance.now() - begunMs) / 1_000;
  await hot.close();
  return { outageSeconds, backlogEntities, catchUpSeconds };
};

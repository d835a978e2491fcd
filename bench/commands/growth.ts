/**
 * `growth`: what changes when the directory grows from a thousand to a million bots: start-up, throughput,
 * activation, an outage of Postgres, the flush.
 *
 * Each size has stores of its own. The smallest stays open, and every other size is measured in turn with it:
 * figures taken at different times would compare the machine with itself.
 */
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { openServerSql } from '../../storage/sql/server.ts';
import { type Context, defineCommand } from '../command.ts';
import { measureActors } from '../growth/actors.ts';
import { measureFlush } from '../growth/flush.ts';
import { openLoad } from '../load/load.ts';
import { type LoadResult, unwatched } from '../load/order.ts';
import { readProcessUs } from '../machine/cpu.ts';
import { parseMetric, readMetrics } from '../measure/metrics.ts';
import { count, counts } from '../options.ts';
import type { Live } from '../report/live.ts';
import { computeSpread, type Spread } from '../report/statistics.ts';
import { formatGrouped, formatRange, tabulate } from '../report/table.ts';
import type { Holder } from '../scenarios/directory.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import { fillWorld, toGrownId } from '../servers/fill.ts';
import type { ServerProcess } from '../servers/process.ts';
import { openWorld } from '../servers/world.ts';
import { runAtOnce } from '../shared/at-once.ts';
import { until } from '../shared/until.ts';

const posters = 1_000;
const connections = 256;
const rounds = 5;
const roundSeconds = 1;
/** As many as the smallest directory has, so that sizes differ in nothing else. */
const activated = 1_000;
const atOnce = 64;
const waitMsMax = 60_000;

/** Fills a directory of this size, starts a server on it, and waits for its first acknowledged post. */
const openSize = async (entities: number, live: Live) => {
  const world = await openWorld({ stores: 'redis', bots: Math.min(posters, entities), users: connections });
  const { bots } = world.directory;
  await fillWorld(world, { count: Math.max(0, entities - bots.length), live });
  const begunMs = performance.now();
  const server = await world.start();
  const headers = { 'Bot-Auth': bots[0]?.token ?? '', 'Content-Type': 'application/json' };
  const post = { method: 'POST', headers, body: '{"servers":1}' };
  await until('a post', async () => (await fetch(`${server.url}/bots/stats`, post)).ok, waitMsMax);
  const startSeconds = (performance.now() - begunMs) / 1_000;
  live.print(`  first acknowledged post after ${startSeconds.toFixed(2)} s`);
  return { entities, world, server, startSeconds, sample: takeSample(bots, entities) };
};
type Size = Awaited<ReturnType<typeof openSize>>;

/** Bots spread evenly over the directory; reads measure these, once they are live. */
const takeSample = (bots: readonly Holder[], entities: number): readonly Holder[] => {
  const grown = entities - bots.length;
  const length = Math.min(activated, grown);
  if (length <= 0) return bots;
  const toId = (index: number): string => toGrownId(Math.floor((index * grown) / length));
  return Array.from({ length }, (_, index) => ({ id: toId(index), token: '' }));
};

const createOrder = ({ url }: ServerProcess, scenario: LoadScenarioName, round: number) => ({
  ...{ scenario, round, url, connections, usedSeconds: 0, rate: 0, placement: null },
  ...{ warmupSeconds: 0.3, measureSeconds: roundSeconds },
});

/** Rounds of both in turn, so that a machine which is busy for a while slows both down. */
const measureThroughput = async (scenario: 'stats' | 'read', sizes: readonly Size[]) => {
  const both = sizes.map(({ server, world: { directory }, sample }) => ({
    server,
    load: openLoad('auto', 0, scenario === 'stats' ? directory : { ...directory, bots: sample }),
  }));
  const results: LoadResult[][] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      const turn: LoadResult[] = [];
      for (const { server, load } of both)
        turn.push(await load.measure(createOrder(server, scenario, round), unwatched));
      if (round > 0) results.push(turn);
    }
  } finally {
    await Promise.all(both.map(({ load }) => load.close()));
  }
  const own = results.map(([result]) => result as LoadResult);
  const ratios = results.flatMap(([result, other]) =>
    result === undefined || other === undefined ? [] : [result.requestsPerSecond / other.requestsPerSecond],
  );
  return {
    perSecond: computeSpread(own.map(({ requestsPerSecond }) => requestsPerSecond)).median,
    p99Ms: computeSpread(own.map(({ latencyMs }) => latencyMs[4] ?? 0)).median,
    /** ÷ the smallest, round by round; `null` for the smallest. */
    ratio: ratios.length === 0 ? null : computeSpread(ratios),
  };
};

/** CPU of the server for each bot, read once, a fixed number at a time. */
const readAll = async (
  { url, child: { pid = 0 } }: ServerProcess,
  bots: readonly Holder[],
): Promise<number> => {
  const before = readProcessUs(pid);
  await runAtOnce(bots, atOnce, async ({ id }) => (await fetch(`${url}/bots/${id}`)).arrayBuffer());
  return (readProcessUs(pid) - before) / bots.length;
};

/** Sends posts while Postgres is away, then nothing until everything is in SQL. */
const measureOutage = async ({ server, world: { stores, directory } }: Size, seconds: number, live: Live) => {
  const load = openLoad('auto', 0, directory);
  const hot = await openRedisStore({ urls: [stores.redis?.url ?? ''], onError: () => {} });
  const countWaiting = async (): Promise<number> => (await hot.countBacklog()).entities;
  try {
    await stores.postgres?.stop('fast');
    const untilMs = performance.now() + seconds * 1_000;
    for (let round = 10; performance.now() < untilMs; round++) {
      live.show(`Postgres is away: ${Math.ceil((untilMs - performance.now()) / 1_000)} s to go …`);
      await load.measure(createOrder(server, 'stats', round), unwatched);
    }
    const backlogEntities = await countWaiting();
    const lagSeconds = parseMetric(await readMetrics(server), 'rollcall_flush_lag_seconds');
    await stores.postgres?.start();
    const begunMs = performance.now();
    await until('all is in SQL', async () => (await countWaiting()) === 0, waitMsMax);
    const catchUpSeconds = (performance.now() - begunMs) / 1_000;
    live.print(`  ${backlogEntities} waited after ${seconds} s, gone after ${catchUpSeconds.toFixed(1)} s`);
    return { outageSeconds: seconds, backlogEntities, lagSeconds, catchUpSeconds };
  } finally {
    await load.close();
    await hot.close();
  }
};

const measureSize = async (size: Size, smallest: Size, { outage, live }: { outage: number; live: Live }) => {
  const { entities, startSeconds, server, sample, world } = size;
  live.show('activation …');
  const firstUs = await readAll(server, sample);
  /** Server CPU of a first read minus that of a second one. */
  const activationCpuUs = Math.max(0, firstUs - (await readAll(server, sample)));
  const sizes = size === smallest ? [size] : [size, smallest];
  live.show('posts and reads …');
  const [posts, reads] = [await measureThroughput('stats', sizes), await measureThroughput('read', sizes)];
  live.print(`  ${Math.round(posts.perSecond)} posts/s, ${Math.round(reads.perSecond)} reads/s`);
  const away = await measureOutage(size, outage, live);
  live.show('the flush against COPY …');
  const { sql, close } = await openServerSql(world.stores.rollcall.DATABASE_URL ?? '');
  const flush = await measureFlush(sql).finally(close);
  return { entities, startSeconds, activationCpuUs, posts, reads, ...away, flush };
};
type Point = Awaited<ReturnType<typeof measureSize>>;

const formatRatio = (ratio: Spread | null): string => (ratio === null ? '–' : formatRange(ratio, 2));

const describe = (bytesPerActor: number, points: readonly Point[]) => ({
  parts: [
    `a live actor takes ${bytesPerActor} bytes`,
    tabulate(
      points,
      [
        ['entities', ({ entities }) => formatGrouped(entities)],
        ['start s', ({ startSeconds }) => startSeconds, 2],
        ['posts/s', ({ posts }) => formatGrouped(posts.perSecond)],
        ['p99 ms', ({ posts }) => posts.p99Ms, 1],
        ['÷ smallest', ({ posts }) => formatRatio(posts.ratio)],
        ['reads/s', ({ reads }) => formatGrouped(reads.perSecond)],
        ['p99 ms', ({ reads }) => reads.p99Ms, 1],
        ['÷ smallest', ({ reads }) => formatRatio(reads.ratio)],
        ['activation CPU µs', ({ activationCpuUs }) => formatGrouped(activationCpuUs)],
        ['flush rows/s', ({ flush }) => formatGrouped(flush.rowsPerSecond)],
        ['÷ COPY', ({ flush }) => flush.ratio, 2],
        ['Postgres away s', ({ outageSeconds }) => outageSeconds],
        ['backlog', ({ backlogEntities }) => formatGrouped(backlogEntities)],
        ['lag s', ({ lagSeconds }) => lagSeconds],
        ['catch-up s', ({ catchUpSeconds }) => catchUpSeconds, 1],
      ],
      0,
    ),
  ],
  figures: { bytesPerActor, points },
});

const measureSizes = async (
  sizes: readonly number[],
  outage: number,
  { live, report }: Context,
): Promise<void> => {
  const bytesPerActor = await measureActors();
  const points: Point[] = [];
  const faults: string[] = [];
  report(() => ({ ...describe(bytesPerActor, points), faults }));
  let smallest: Size | null = null;
  for (const entities of sizes) {
    live.print(`${formatGrouped(entities)} bots`);
    try {
      const size: Size = await openSize(entities, live);
      smallest ??= size;
      points.push(await measureSize(size, smallest, { outage, live }));
      if (size !== smallest) await size.world.close();
    } catch (error) {
      faults.push(`${formatGrouped(entities)} bots were not measured: ${(error as Error).message}`);
    }
  }
};

export const growth = defineCommand({
  name: 'growth',
  about: '1,000 to 1,000,000 bots; Postgres away for a minute',
  options: {
    sizes: counts([1_000, 10_000, 100_000, 1_000_000], [100, 10_000_000], 'bots in the directory'),
    outage: count(60, [1, 3_600], 'seconds that Postgres is away'),
  },
  run: ({ sizes, outage }, context) =>
    measureSizes(
      sizes.toSorted((a, b) => a - b),
      outage,
      context,
    ),
});

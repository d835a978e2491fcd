/**
 * Shared stores of which one is put back as it was earlier, by a copy of its files, while the other went on:
 * the steps and the results that docs/operating.md gives the operator.
 *
 * Counting goes on before, in between and after. Called by ages.fault.ts; ages-embedded.ts does the same to
 * a data folder.
 */
import { execFile } from 'node:child_process';
import { cpSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { listShardsBehind, readNewestPositions } from '../../storage/backup/age.ts';
import { tokenOf } from '../support/directory.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { inspect } from './at-rest.ts';
import { nowMs, type Span } from './client-log.ts';
import type { Figures } from './figures.ts';
import { keyOf } from './load.ts';
import { withoutMissingRows } from './missing-rows.ts';
import { operate } from './operate.ts';
import { acknowledged, type Life, openStack, outsider, type Stack, until } from './stack.ts';

export interface AgeFigures extends Figures {
  /** Of 128, those that the hot store held at an older place than SQL. */
  readonly shardsOlder: number;
}

export interface World {
  readonly stack: Stack;
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly databaseUrl: string;
}

/** Whether a bot can be voted for whose ban is lost with the newer SQL. */
const takesVotes = async ({ stack }: World): Promise<boolean> => {
  const [user = ''] = stack.directory.users;
  const url = `${stack.alive()[0]?.node.url}/users/${user}/bots/${outsider}/votes?upvote=true`;
  const { status } = await stack.client.ask(url, {
    method: 'PUT',
    headers: { 'User-Auth': tokenOf('user', user) },
  });
  return status === 204 || status === 429;
};

/** What is put back. */
type Copy = 'redis' | 'sql';

const onServers = async <Result>(seed: number, task: (world: World) => Promise<Result>): Promise<Result> => {
  const postgres = await startPostgres();
  const redis = await startRedis();
  try {
    const databaseUrl = await postgres.database('ages');
    const stack = await openStack({ redisUrls: [redis.url], databaseUrl, nodes: 2, seed });
    try {
      return await task({ stack, redis, postgres, databaseUrl });
    } finally {
      await stack.close();
    }
  } finally {
    await redis.dispose();
    await postgres.close();
  }
};

/** Redis is brought back older, and the nodes are started. */
export const runOlderRedis = (seed: number): Promise<AgeFigures> =>
  onServers(seed, async (world) => {
    await swap(world, 'redis');
    const { stack } = world;
    const shardsOlder = (
      await listShardsBehind(stack.stores.hot, await readNewestPositions(stack.stores.sql))
    ).length;
    assert.ok(shardsOlder > 0, 'the copy is older');
    assert.match(await refusedReflush(world), /The hot store is older than SQL in \d+ of its 128 shards/);
    await startAndCount(stack);
    // Visitors were in Redis alone.
    return { ...(await stack.judge({ forgets: true })), shardsOlder };
  });

/** Postgres is brought back older, all totals are written anew, and the nodes are started. */
export const runOlderSql = (seed: number): Promise<AgeFigures> =>
  onServers(seed, async (world) => {
    const { stack } = world;
    const rowless = await swap(world, 'sql');
    assert.match(await run(world, 'reflush'), /All totals of the hot store are in SQL/);
    const { differences } = await inspect(stack.stores, stack.stores.hot, stack.directory.targets);
    assert.equal(withoutMissingRows(differences, stack.log, rowless), [], 'totals before any node runs');
    await startAndCount(stack);
    await until('facts are those of SQL', () => takesVotes(world));
    return { ...(await stack.judge({ rowless })), shardsOlder: 0 };
  });

/** The same without `reflush`: SQL keeps old totals until each entity is counted again. */
export const runOlderSqlAsIs = (seed: number): Promise<AgeFigures> =>
  onServers(seed, async (world) => {
    const { stack } = world;
    const rowless = await swap(world, 'sql');
    const fromMs = nowMs();
    await startAndCount(stack, async () => {
      await until('every entity was counted again', async () => countedSince(stack, fromMs));
    });
    return { ...(await stack.judge({ rowless })), shardsOlder: 0 };
  });

/** Whether every entity has an acknowledged change since then. */
export const countedSince = (
  { log, directory }: Pick<Stack, 'log' | 'directory'>,
  fromMs: number,
): boolean => {
  const since = (op: { readonly callMs: number; readonly outcome: string }): boolean =>
    op.callMs > fromMs && op.outcome === 'ok';
  const bots = log.stats.filter(since).map(({ bot }) => `bot/${bot}`);
  const counted = new Set([...bots, ...log.votes.filter(since).map(({ target }) => target)]);
  return directory.targets.every((target) => counted.has(keyOf(target)));
};

/**
 * Counts, takes the copy, counts on, stops the nodes, puts the copy back, waits for both servers. Resolves to
 * the time in between.
 */
const swap = async (world: World, copy: Copy): Promise<Span> => {
  const { stack } = world;
  await counted(stack, 300);
  const fromMs = nowMs();
  await { redis: copyRedis, sql: copySql }[copy](world);
  const [node] = stack.alive() as readonly [Life];
  const ban = { method: 'PUT', path: `/bot/${outsider}/vote-ban` } as const;
  await until('nobody may vote for it', async () => (await operate(stack, node, ban)).status === 200);
  await counted(stack, 400);
  assert.not(await takesVotes(world), 'the ban is heard');
  await stack.rest();
  await { redis: putBackRedis, sql: putBackSql }[copy](world);
  await until('both servers answer', async () => {
    await stack.stores.hot.countBacklog();
    return (await stack.stores.sql`select 1`).length === 1;
  });
  return { fromMs, toMs: nowMs() };
};

/** So many more, then all of it is flushed. */
const counted = async ({ load, log, stores }: Stack, more: number): Promise<void> => {
  const running = load(12);
  await acknowledged(log, more).finally(() => running.stop());
  await until('all is flushed', async () => {
    const { entities, votes } = await stores.hot.countBacklog();
    return entities + votes === 0;
  });
};

const startAndCount = async (stack: Stack, enough = () => acknowledged(stack.log, 200)): Promise<void> => {
  for (let count = 0; count < 2; count++) await stack.open();
  const running = stack.load(12);
  await enough().finally(() => running.stop());
};

/* ------------------------------------------------------------------ copies */

const redisFiles = 'appendonlydir';
const copied = (path: string): string => `${path}.copy`;

/** As a disk's image shows it: nothing is written meanwhile. */
const copyRedis = async ({ redis }: World): Promise<void> => {
  const files = join(redis.folder, redisFiles);
  redis.signal('SIGSTOP');
  cpSync(files, copied(files), { recursive: true });
  redis.signal('SIGCONT');
};

const putBack = (files: string): void => {
  renameSync(files, `${files}.newer`);
  renameSync(copied(files), files);
};

const putBackRedis = async ({ redis }: World): Promise<void> => {
  await redis.kill();
  putBack(join(redis.folder, redisFiles));
  await redis.start();
};

const copySql = async ({ postgres }: World): Promise<void> => {
  const files = join(postgres.folder, 'data');
  await postgres.stop('immediate');
  // By the system: owners are kept.
  await promisify(execFile)('cp', ['-a', files, copied(files)]);
  await postgres.start();
};

const putBackSql = async ({ postgres }: World): Promise<void> => {
  await postgres.stop('fast');
  putBack(join(postgres.folder, 'data'));
  await postgres.start();
};

/* ---------------------------------------------------------------- commands */

const program = fileURLToPath(new URL('../../ops/cli/main.ts', import.meta.url));

/** `npm run ops -- WORDS` with these settings; resolves to what it said. Rejects when it failed. */
export const command = async (
  settings: Readonly<Record<string, string>>,
  words: readonly string[],
): Promise<string> => {
  const options = { env: { ...process.env, ...settings } };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, ...words],
    options,
  );
  return stdout;
};

const run = ({ redis, databaseUrl }: World, word: string): Promise<string> =>
  command({ REDIS_URL: redis.url, DATABASE_URL: databaseUrl }, [word]);

const refusedReflush = (world: World): Promise<string> =>
  run(world, 'reflush').then(
    (said) => `it was done: ${said}`,
    ({ stderr }: { stderr?: string }) => stderr ?? 'it failed without words',
  );

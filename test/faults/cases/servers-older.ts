/**
 * Shared stores where one is put back as it was earlier, by a copy of its files, while the other went on:
 * the steps and the results that docs/runbook/restored-backup.md gives the operator.
 *
 * Counting goes on before, in between and after.
 */
import { execFile } from 'node:child_process';
import { cpSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { nowMs, type Span } from '../../../bench/prove/client-log.ts';
import { listShardsBehind, readNewestPositions } from '../../../storage/backup/servers.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import { inspect } from '../harness/at-rest.ts';
import type { Figures } from '../harness/figures.ts';
import { keyOf } from '../harness/load.ts';
import { withoutMissingRows } from '../harness/missing-rows.ts';
import { onServers, type ServersWorld as World } from '../harness/on-servers.ts';
import { operate } from '../harness/operate.ts';
import { type Life, outsider, type Stack, untilFlushed } from '../harness/stack.ts';
import { acknowledged, underLoad, voteForOutsider } from '../harness/waits.ts';

export interface AgeFigures extends Figures {
  /** Of 16, those that the hot store held at an older place than SQL. */
  readonly shardsOlder: number;
}

/** Whether a bot can be voted for whose ban is lost with the newer SQL. */
const acceptsVotes = async ({ stack }: World): Promise<boolean> => {
  const [user = ''] = stack.directory.users;
  const { status } = await voteForOutsider(stack, stack.alive()[0] as Life, { user });
  return status === 204 || status === 429;
};

/** What is put back. */
type Copy = 'redis' | 'sql';

/** Redis is brought back older, and the nodes are started. */
export const runOlderRedis = (seed: number): Promise<AgeFigures> =>
  onServers({ seed }, async (world) => {
    await swap(world, 'redis');
    const { stack } = world;
    const shardsOlder = (
      await listShardsBehind(stack.stores.hot, await readNewestPositions(stack.stores.sql))
    ).length;
    assert.ok(shardsOlder > 0, 'the copy is older');
    assert.match(await refusedReflush(world), /The hot store is older than SQL in \d+ of its 16 shards/);
    await startAndCount(stack);
    // Visitors were in Redis alone.
    return { ...(await stack.judge({ forgets: true })), shardsOlder };
  });

/** Postgres is brought back older, all totals are written again, and the nodes are started. */
export const runOlderSql = (seed: number): Promise<AgeFigures> =>
  onServers({ seed }, async (world) => {
    const { stack } = world;
    const rowless = await swap(world, 'sql');
    assert.match(await run(world, 'reflush'), /All totals of the hot store are in SQL/);
    const { differences } = await inspect(stack.stores, stack.stores.hot, stack.directory.targets);
    assert.equal(withoutMissingRows(differences, stack.log, rowless), [], 'totals before any node runs');
    await startAndCount(stack);
    await until('facts are those of SQL', () => acceptsVotes(world));
    await assertLogRestarted(world, rowless);
    return { ...(await stack.judge({ rowless })), shardsOlder: 0 };
  });

/** The same without `reflush`: SQL keeps old totals until each entity is counted again. */
export const runOlderSqlAsIs = (seed: number): Promise<AgeFigures> =>
  onServers({ seed }, async (world) => {
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
export const swap = async (world: World, copy: Copy): Promise<Swapped> => {
  const { stack } = world;
  await counted(stack, 300);
  const fromMs = nowMs();
  await { redis: copyRedis, sql: copySql }[copy](world);
  const [node] = stack.alive() as readonly [Life];
  const ban = { method: 'PUT', path: `/bot/${outsider}/vote-ban` } as const;
  await until('votes for it are banned', async () => (await operate(stack, node, ban)).status === 200);
  await counted(stack, 400);
  assert.not(await acceptsVotes(world), 'the ban is known');
  const cursors = await readCursors(world);
  await stack.rest();
  await { redis: putBackRedis, sql: putBackSql }[copy](world);
  await until('both servers answer', async () => {
    await stack.stores.hot.countBacklog();
    return (await stack.stores.sql`select 1`).length === 1;
  });
  return { fromMs, toMs: nowMs(), cursors };
};

/* ---------------------------------------------------------------- vote logs */

/** A time, and the head of each listing's vote log at its end. */
interface Swapped extends Span {
  readonly cursors: ReadonlyMap<string, string>;
}

interface LogReply {
  readonly results: readonly { readonly number: number }[];
  readonly head: string;
  readonly context: { readonly code: string; readonly oldest: string };
}

const readLog = async ({ stack }: World, target: string, query = ''): Promise<LogReply> => {
  const { url } = (stack.alive()[0] as Life).node;
  return (await (await fetch(`${url}/${target}/votes/log${query}`)).json()) as LogReply;
};

/** So few that an address stays below its limit of requests. */
const logsMax = 5;

const readCursors = async (world: World): Promise<Swapped['cursors']> => {
  const cursors = new Map<string, string>();
  for (const target of world.stack.directory.targets.slice(0, logsMax).map(keyOf))
    cursors.set(target, (await readLog(world, target)).head);
  return cursors;
};

/** An old cursor is refused, also where the new log is longer by now; the new log has no hole. */
const assertLogRestarted = async (world: World, { cursors }: Swapped): Promise<void> => {
  for (const [target, cursor] of cursors) {
    const { context } = await readLog(world, target, `?after=${cursor}`);
    assert.equal([target, context?.code], [target, 'log_restarted']);
    const { results } = await readLog(world, target, `?after=${context.oldest}&limit=1000`);
    assert.equal(
      pluck(results, 'number'),
      results.map((_, index) => index + 1),
    );
  }
};

/** So many more, then all of it is flushed. */
const counted = async (stack: Stack, more: number): Promise<void> => {
  await underLoad(stack, 12, () => acknowledged(stack.log, more));
  await untilFlushed(stack.stores);
};

export const startAndCount = async (
  stack: Stack,
  enough = () => acknowledged(stack.log, 200),
): Promise<void> => {
  for (let count = 0; count < 2; count++) await stack.open();
  await underLoad(stack, 12, enough);
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

const program = fileURLToPath(new URL('../../../ops/cli/main.ts', import.meta.url));

/** `npm run ops -- ARGS` with these settings; resolves to its output. Rejects when it failed. */
export const command = async (
  settings: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> => {
  const options = { env: { ...process.env, ...settings } };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, ...args],
    options,
  );
  return stdout;
};

const run = ({ redis, databaseUrl }: World, name: string): Promise<string> =>
  command({ REDIS_URL: redis.url, DATABASE_URL: databaseUrl }, [name]);

const refusedReflush = (world: World): Promise<string> =>
  run(world, 'reflush').then(
    (output) => `it was done: ${output}`,
    ({ stderr }: { stderr?: string }) => stderr ?? 'it failed without a message',
  );

/**
 * A node that ran with a clock ten years ahead, and then with a right one: the start is refused by a message
 * that names the times, `--accept-clock` mends the stores, and all counts as if it were now. For each kind of
 * store; of Postgres itself the clock cannot be moved.
 */
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config/config.ts';
import { start } from '../../ops/rollcall.ts';
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { createHeartbeats } from '../../storage/nodes/heartbeats.ts';
import { openPubsub } from '../../storage/nodes/pubsub.ts';
import { connectSql, type Sql } from '../../storage/sql/client.ts';
import { directoryOf, fillDirectory, makeDataFolder, openAtRest, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { reportSkipped } from '../support/needing-suite.ts';
import { type StartedNode, spawnNode, startNode } from '../support/node-process.ts';
import { untilNote } from '../support/notes.ts';
import { runOps } from '../support/ops-process.ts';
import { pluck } from '../support/pluck.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { openShiftedClocks } from '../support/shifted-clock.ts';
import { until } from '../support/until.ts';

const test = suite('clock at the start');
const folder = makeFolder('rollcall-clock-start-');
const clocks = openShiftedClocks();
test.after(() => clocks?.close());
const sizes = { users: 4, bots: 2, servers: 1, teams: 1, packs: 1 };
const { users, bots } = directoryOf(sizes);
const [bot = ''] = bots;
const tenYearsMs = 3_653 * 86_400_000;

type Settings = Readonly<Record<string, string>>;

const put = async (url: string, user: string): Promise<number> => {
  const headers = { 'User-Auth': tokenOf('user', user) };
  const path = `/users/${user}/bots/${bot}/votes?upvote=true`;
  return (await fetch(`${url}${path}`, { method: 'PUT', headers })).status;
};
const post = async (url: string, servers: number): Promise<void> => {
  const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
  const body = JSON.stringify({ servers });
  assert.is((await fetch(`${url}/bots/stats`, { method: 'POST', headers, body })).status, 200);
};
const read = async (url: string) =>
  (await (await fetch(`${url}/bots/${bot}`)).json()) as {
    votes: number;
    clicks: number;
    last_stats_post: string;
  };
const isNow = (time: string): boolean => Math.abs(Date.parse(time) - Date.now()) < 120_000;

/** Lives ten years ahead, on stores that take a shifted clock. */
const liveAhead = async (dataDir: string, settings: Settings, end: Ending): Promise<void> => {
  const node = await startNode({ dataDir, settings });
  assert.is(await put(node.url, users[0] ?? ''), 204);
  assert.is(await put(node.url, users[1] ?? ''), 204);
  await post(node.url, 5);
  await fetch(`${node.url}/bots/${bot}?target=page`);
  await until('the click counts', async () => (await read(node.url)).clicks === 1);
  await end(node);
};
type Ending = (node: StartedNode) => Promise<unknown>;

const refusal =
  /says 20[23]\d-.*but the stores have later times: .* 20(3[6-9]|4\d)-.*start once with .*--accept-clock/s;

const isRefused = async (dataDir: string, settings: Settings): Promise<void> => {
  const node = spawnNode({ dataDir, settings });
  assert.is((await node.exited).code, 1, node.output());
  assert.match(node.output(), refusal);
};

/** Starts with the option; then all is as usual, also at the next start. */
const isMended = async (dataDir: string, settings: Settings): Promise<void> => {
  const options = { dataDir, settings, args: ['--accept-clock'] };
  const mended = await startNode(options);
  assert.match(mended.output(), /Times ahead of the clock are set to 20.*votes \(created_at.*: 2 rows/s);
  assert.is((await read(mended.url)).votes, 2);
  assert.is(await put(mended.url, users[0] ?? ''), 429, 'a vote of now');
  assert.is(await put(mended.url, users[2] ?? ''), 204);
  await post(mended.url, 6);
  const shown = await read(mended.url);
  assert.ok(isNow(shown.last_stats_post), shown.last_stats_post);
  assert.equal([shown.votes, shown.clicks], [3, 1]);
  await mended.stop();
  const next = await startNode({ dataDir, settings });
  assert.is((await read(next.url)).votes, 3, 'the votes count in SQL');
  assert.is(await put(next.url, users[2] ?? ''), 429);
  await next.stop();
};

/** No happened time is ahead, and each vote counts. */
const isRight = async (sql: Sql): Promise<void> => {
  const rows = await sql<{ ahead: boolean; void: boolean }[]>`
    select created_at > now() + interval '1 minute' as ahead, void from vote_rows`;
  assert.equal(
    rows.map(({ ahead, void: isVoid }) => [ahead, isVoid]),
    [
      [false, false],
      [false, false],
      [false, false],
    ],
  );
  const runs = await sql<{ name: string }[]>`select name from job_runs where due_at > now()`;
  assert.equal([...runs], []);
  const [totals] = await sql<{ last: number; released: number }[]>`
    select max(last_stats_post_ms) as last, max(released_before_ms) as released from totals`;
  assert.ok((totals?.last ?? 0) < Date.now() + 60_000 && (totals?.released ?? 0) < Date.now() + 60_000);
};

test('embedded stores: refused by name, mended on request, and the next month ends as usual', async () => {
  if (clocks === null) return reportSkipped('a clock ahead', 'no compiler (gcc) to build a clock with');
  const dataDir = join(folder, 'embedded');
  await makeDataFolder(dataDir, sizes);
  const clock = clocks.create();
  clock.shift(tenYearsMs);
  await liveAhead(dataDir, clock.environment, async (node) => {
    clock.shift(0);
    await untilNote('clock_set_back', node);
    await post(node.url, 7);
    assert.is((await node.stop()).code, 0, node.output());
  });

  await isRefused(dataDir, {});
  const moved = await runOps(dataDir, ['move', '--to-data', join(folder, 'elsewhere')]);
  assert.is(moved.code, 1);
  assert.match(moved.err, refusal);
  const backup = join(folder, 'backup');
  assert.is((await runOps(dataDir, ['backup', backup])).code, 0);
  const restored = join(folder, 'restored');
  assert.is((await runOps(restored, ['restore', backup])).code, 0);
  await isRefused(restored, {});

  for (const place of [dataDir, restored]) {
    await isMended(place, {});
    const { sql, close } = await openAtRest(place);
    await isRight(sql).finally(close);
  }
  const months = clocks.create();
  months.shift(40 * 86_400_000);
  const later = await startNode({ dataDir, settings: months.environment });
  await until('the month ends', async () => (await read(later.url)).votes === 0, 150_000);
  await later.stop();
});

test('Redis and Postgres: the same, though Redis kept marks of a node that was killed', async () => {
  if (clocks === null) return reportSkipped('a clock ahead', 'no compiler (gcc) to build a clock with');
  const clock = clocks.create();
  clock.shift(tenYearsMs);
  const redis = await startRedis({ environment: clock.environment });
  const postgres = await startPostgres();
  const servers = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('ahead') };
  const sql = connectSql(servers.DATABASE_URL, { connectionsMax: 1 });
  try {
    await fillDirectory(sql, sizes);
    const dataDir = join(folder, 'servers');
    await liveAhead(dataDir, { ...servers, ...clock.environment }, (node) => node.kill());
    clock.shift(0);

    await isRefused(dataDir, servers);
    await isMended(dataDir, servers);
    await isRight(sql);
    const { isAhead, names } = await findLasting(redis.url);
    assert.equal([isAhead, names], [false, []]);
  } finally {
    await sql.end();
    await redis.dispose();
    await postgres.close();
  }
});

test('counters in DATA_DIR beside Postgres: the same', async () => {
  if (clocks === null) return reportSkipped('a clock ahead', 'no compiler (gcc) to build a clock with');
  const clock = clocks.create();
  clock.shift(tenYearsMs);
  const postgres = await startPostgres();
  const servers = { DATABASE_URL: await postgres.database('alone') };
  const sql = connectSql(servers.DATABASE_URL, { connectionsMax: 1 });
  try {
    await fillDirectory(sql, sizes);
    const dataDir = join(folder, 'alone');
    await liveAhead(dataDir, { ...servers, ...clock.environment }, (node) => node.kill());

    await isRefused(dataDir, servers);
    await isMended(dataDir, servers);
    await isRight(sql);
  } finally {
    await sql.end();
    await postgres.close();
  }
});

/** Whether Redis has a mark ahead of the clock, and which of its keys outlive all that it may have. */
const findLasting = async (url: string) => {
  const store = await openRedisStore({ urls: [url] });
  const isAhead = (await store.transfer.findNewestMs()) > Date.now() + 60_000;
  await store.close();
  const client = new Redis(url);
  const keys = await client.keys('*');
  const lives = await Promise.all(keys.map((key) => client.pttl(key)));
  client.disconnect();
  return { isAhead, names: keys.filter((_, index) => (lives[index] ?? 0) > 3 * 86_400_000) };
};

test('a node that was alive before the clock of Redis was set back is not alive for ever', async () => {
  if (clocks === null) return reportSkipped('a clock ahead', 'no compiler (gcc) to build a clock with');
  const clock = clocks.create();
  clock.shift(tenYearsMs);
  const redis = await startRedis({ environment: clock.environment });
  const pubsub = openPubsub({ urls: [redis.url], onError: () => {} });
  const facts = { library: '', adminUrl: '', version: '', figures: {}, reachesSql: true };
  const beat = (name: string) =>
    createHeartbeats({ commands: pubsub.commands, name, readFacts: () => facts }).sendHeartbeat();
  try {
    await until('Redis is reached', () => pubsub.isConnected());
    await beat('gone');
    clock.shift(0);

    assert.equal(pluck(await beat('here'), 'name'), ['here']);
  } finally {
    pubsub.close();
    await redis.dispose();
  }
});

test('a clock a day from that of Postgres is refused, and one that was never set', async () => {
  const postgres = await startPostgres();
  const DATABASE_URL = await postgres.database('apart');
  const places = {
    PORT: '0',
    ADMIN_PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: join(folder, 'apart'),
    DEMO: 'off',
  };
  const config = readConfig({ ...places, DATABASE_URL });
  const fails = (systemMs: number): Promise<string> =>
    start(config, { systemMs, logger: pino({ level: 'silent' }) }).then(
      (running) => running.stop().then(() => ''),
      (error: Error) => error.message,
    );
  try {
    assert.match(await fails(Date.now() + 2 * 86_400_000), /that of Postgres 20.*one is wrong/);
    assert.match(await fails(Date.now() - 2 * 86_400_000), /that of Postgres 20.*one is wrong/);
    assert.match(await fails(5_000), /says 1970-01-01T00:00:05.000Z: it was never set/);
    assert.match(await fails(Date.UTC(2019, 5)), /says 2019-06-01.*it was never set/);
    assert.is(await fails(Date.now() + 3_600_000), '', 'an hour is no reason');
  } finally {
    await postgres.close();
  }
});

test.run();

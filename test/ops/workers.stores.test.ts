/**
 * Several worker processes on one port, with a real Redis and Postgres: all of them serve, one that is
 * killed under load is restarted and nothing acknowledged is lost, and all drain together. Time limit: 240
 * s.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildStatsBody, findPostShown } from '../../bench/prove/post-body.ts';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { createClient } from '../../bench/shared/http-client.ts';
import { type ConfigError, readConfig } from '../../ops/config/config.ts';
import { openStores } from '../../storage/open.ts';
import { fillDirectory, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';

const test = suite('workers');
const folder = makeFolder('rollcall-workers-');
const postgres = await startPostgres();
const redis = await startRedis();
const client = createClient(8);
let bots: readonly string[] = [];
let users: readonly string[] = [];
let supervisor: StartedNode;

const databaseUrl = await postgres.database('workers');
const stores = await openStores(
  { dataDir: folder, redisUrl: [redis.url], databaseUrl },
  { clock: Date.now, onWarning: () => {} },
);
const sizes = { users: 2, bots: 8, servers: 0, teams: 1, packs: 0 };
({ bots, users } = await fillDirectory(stores.sql, sizes));
await stores.close();
const adminPort = await findFreePort();
const settings = {
  WORKERS: '2',
  PORT: String(await findFreePort()),
  ADMIN_PORT: String(adminPort),
  ADMIN_TOKEN: 'operator-of-this-test-operator-of-this-test',
  REDIS_URL: redis.url,
  DATABASE_URL: databaseUrl,
  LEAVE_MS: '200',
};
supervisor = await startNode({ dataDir: folder, settings });
test.after(async () => {
  client.close();
  await supervisor?.kill();
  await redis.dispose();
  await postgres.close();
});

/** The running child processes of a process. */
const listChildren = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

const until = async (condition: string, holds: () => Promise<boolean> | boolean): Promise<void> => {
  const endMs = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not in time: ${condition}\n${supervisor.output()}`);
    await pause(20);
  }
};

const areReady = async (): Promise<boolean> => {
  const first = Number(settings.ADMIN_PORT);
  const replies = await Promise.all(
    [first, first + 1].map((port) =>
      client.ask(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    ),
  );
  return replies.every(Boolean);
};

/** Posts to every bot, one post after the other, until stopped. Records the last sent and acknowledged id. */
const startPosting = () => {
  const sent = new Map<string, number>();
  const acknowledged = new Map<string, number>();
  const state = { acked: 0, stopped: false };
  const post = async (bot: string): Promise<void> => {
    const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
    for (let id = 1; !state.stopped; id++) {
      sent.set(bot, id);
      const status = await client
        .ask(`${supervisor.url}/bots/stats`, { method: 'POST', headers, body: buildStatsBody(id) })
        .then(
          (answer) => answer.status,
          () => pause(5, 0),
        );
      if (status !== 200) continue;
      acknowledged.set(bot, id);
      state.acked += 1;
    }
  };
  const ended = Promise.all(bots.map(post));
  return {
    sent,
    acknowledged,
    acked: () => state.acked,
    stop: async () => {
      state.stopped = true;
      await ended;
    },
  };
};

test('the start message names the shared stores instead of the data folder', () => {
  const output = supervisor.output();

  assert.match(output, new RegExp(`Redis +redis://127\\.0\\.0\\.1:${new URL(redis.url).port}\\n`));
  assert.match(output, /Postgres +postgres(ql)?:\/\/[^@\s]+\/workers\S*\n/);
  assert.match(output, /Other nodes +none\n/);
  assert.not.match(output, /Data +/);
});

test('each worker has its own operator port, and they share the public port', async () => {
  assert.is(listChildren(supervisor.pid).length, 2);
  assert.ok(await areReady());
  assert.is((await client.ask(`${supervisor.url}/bots/${bots[0]}`)).status, 200);
});

test('each worker is a node of its own: it has its share of flushing, and is listed', async () => {
  const url = `http://127.0.0.1:${adminPort}/nodes`;
  const headers = { Authorization: `Operator ${settings.ADMIN_TOKEN}` };
  const countNodes = async (): Promise<number> =>
    JSON.parse((await client.ask(url, { headers })).text).nodes.length;

  await until('both are listed', async () => (await countNodes()) === 2);
});

test('a ban through one worker applies to all of them, and so does its end', async () => {
  const [user = ''] = users;
  const first = Number(settings.ADMIN_PORT);
  const readStatus = async (): Promise<number> => {
    // A new connection each time, so that both workers get some.
    const headers = { 'User-Auth': tokenOf('user', user), Connection: 'close' };
    const response = await fetch(`${supervisor.url}/users/${user}/reminders`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const allSay = async (status: number): Promise<boolean> =>
    (await Promise.all(Array.from({ length: 32 }, readStatus))).every((seen) => seen === status);
  const operate = async (method: 'PUT' | 'DELETE', port: number): Promise<void> => {
    const headers = { Authorization: `Operator ${settings.ADMIN_TOKEN}` };
    const url = `http://127.0.0.1:${port}/users/${user}/ban`;
    assert.is((await client.ask(url, { method, headers })).status, 200);
  };
  await until('both workers accept the session', () => allSay(200));

  await operate('PUT', first + 1);
  await until('both workers refuse the user', () => allSay(403));
  await operate('DELETE', first);
  await until('both workers accept the user', () => allSay(200));
});

test('a worker killed under load is restarted, and nothing acknowledged is lost', async () => {
  const posting = startPosting();
  await until('there is load', () => posting.acked() > 200);
  const [victim = 0] = listChildren(supervisor.pid);
  process.kill(victim, 'SIGKILL');
  await until('another worker is ready', async () => {
    const now = listChildren(supervisor.pid);
    return now.length === 2 && !now.includes(victim) && (await areReady());
  });
  const before = posting.acked();
  await until('the load goes on', () => posting.acked() > before + 200);
  await posting.stop();

  for (const bot of bots) {
    const { text } = await client.ask(`${supervisor.url}/bots/${bot}`);
    const shown = findPostShown(text) ?? 0;
    assert.ok(shown >= (posting.acknowledged.get(bot) ?? 0), `bot ${bot} shows ${shown}`);
    assert.ok(shown <= (posting.sent.get(bot) ?? 0), `bot ${bot} shows ${shown}`);
  }
});

test('all workers drain together', async () => {
  const workers = listChildren(supervisor.pid);
  const { code } = await supervisor.stop();

  assert.is(code, 0, supervisor.output());
  for (const pid of workers) assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

test('the first signal drains, the second ends all workers at once', async () => {
  supervisor = await startNode({ dataDir: folder, settings: { ...settings, LEAVE_MS: '60000' } });
  const workers = listChildren(supervisor.pid);
  supervisor.signal('SIGINT');
  await until('it drains', () => supervisor.output().includes('Draining'));
  supervisor.signal('SIGINT');
  await supervisor.exited;

  for (const pid of workers) assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

test('workers that cannot start end the start with a message', async () => {
  const wrong = { ...settings, REDIS_URL: 'redis://127.0.0.1:1' };
  const message = await startNode({ dataDir: folder, settings: wrong }).then(
    () => '',
    (error: Error) => error.message,
  );

  assert.match(message, /could not start/);
});

test('settings that do not fit several workers are refused', () => {
  const shared = { REDIS_URL: 'redis://127.0.0.1:6379', DATABASE_URL: 'postgres://a@127.0.0.1/b' };
  const messageOf = (environment: Record<string, string>): string => {
    try {
      readConfig({ WORKERS: '3', ...environment });
      return '';
    } catch (error) {
      return (error as ConfigError).message;
    }
  };

  assert.match(messageOf({}), /counters in DATA_DIR belong to one process/);
  assert.match(messageOf({ ...shared, PORT: '0' }), /workers share one port/);
  assert.match(messageOf({ ...shared, PORT: '9091' }), /workers take the ports 9090 to 9092/);
  assert.match(messageOf({ ...shared, ADMIN_PORT: '65534' }), /set it to 1 to 65533/);
  assert.is(messageOf(shared), '');
});

test.run();

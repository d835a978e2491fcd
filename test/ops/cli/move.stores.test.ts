/**
 * A directory moves from the embedded stores to servers and back: `inspect` finds no difference, visitors,
 * last votes and shards of bots go with it, and of the two at most one starts.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newShardCount, oldShardCount, setShardCount } from '../../../engine/ids.ts';
import { prepareStores, readShardCount } from '../../../storage/shards.ts';
import { fillDirectory, makeDataFolder, openAtRest, tokenOf } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { spawnNode, startNode } from '../../support/node-process.ts';
import { runOps } from '../../support/ops-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { makeBareFolder } from '../../support/sql-template.ts';
import { until } from '../../support/until.ts';

type Settings = Readonly<Record<string, string>>;

const test = suite('a move to other stores');
const folder = makeFolder('rollcall-move-');
const postgres = await startPostgres();
const redis = await startRedis();
test.after(async () => {
  await redis.dispose();
  await postgres.close();
});

const directory = await makeDataFolder(join(folder, 'first'), {
  users: 20,
  bots: 10,
  servers: 2,
  teams: 1,
  packs: 1,
});
const [bot = '', user = '', otherUser = ''] = [directory.bots[0], ...directory.users.slice(1)];

const request = async (url: string, options: RequestInit = {}) => {
  const reply = await fetch(url, options);
  return { status: reply.status, text: await reply.text() };
};

const votePath = `/users/${user}/bots/${bot}/votes?upvote=true`;
const userAuth = { 'User-Auth': tokenOf('user', user) };
const botAuth = { 'Bot-Auth': tokenOf('bot', bot) };

const readLog = async (url: string, query: string) => {
  const { status, text } = await request(`${url}/bots/${bot}/votes/log${query}`);
  assert.is(status, 200, text);
  return JSON.parse(text) as { epoch: string; head: string; results: { number: number }[] };
};

/** A cursor from before the move leads to the next vote. */
const assertLogGoesOn = async (url: string, logged: { epoch: string; head: string }): Promise<void> => {
  const other = { method: 'PUT', headers: { 'User-Auth': tokenOf('user', otherUser) } };
  assert.is((await request(url + votePath.replace(user, otherUser), other)).status, 204);
  const later = await readLog(url, `?after=${logged.head}&wait=20`);
  assert.equal([later.epoch, later.results.length], [logged.epoch, 1], 'the cursor goes on');
  assert.is(later.results[0]?.number, 2);
};

/** What operators see of all bots, without what differs by kind of store. */
const inspectAll = async (dataDir: string, settings: Settings): Promise<readonly string[]> => {
  const shown: string[] = [];
  for (const id of directory.bots.slice(0, 3)) {
    const { out, err, code } = await runOps(dataDir, ['inspect', 'bot', id, '--json'], { settings });
    assert.is(code, 0, err);
    shown.push(out);
  }
  return shown;
};

const move = (dataDir: string, settings: Settings, args: readonly string[]) =>
  runOps(dataDir, ['move', ...args], { settings });

const startFails = async (dataDir: string, settings: Settings): Promise<string> => {
  const node = spawnNode({ dataDir, settings });
  const { code } = await node.exited;
  assert.is(code, 1, node.output());
  return node.output();
};

test('embedded to servers and back: nothing is lost, and the former stores do not start', async () => {
  const first = join(folder, 'first');
  const counting = await startNode({ dataDir: first });
  assert.is((await request(counting.url + votePath, { method: 'PUT', headers: userAuth })).status, 204);
  await request(`${counting.url}/bots/${bot}?target=page`);
  const parts = {
    shard_count: 2,
    shards: [
      { id: 0, servers: 5 },
      { id: 1, servers: 7 },
    ],
  };
  const posted = await request(`${counting.url}/bots/stats/shards`, {
    method: 'POST',
    headers: botAuth,
    body: JSON.stringify(parts),
  });
  assert.is(posted.status, 200, posted.text);
  const logged = await readLog(counting.url, '');
  await counting.stop();

  const servers = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('moved') };
  const before = await inspectAll(first, {});
  const toServers = ['--to-redis', servers.REDIS_URL, '--to-database', servers.DATABASE_URL];
  const moved = await move(first, {}, toServers);
  assert.is(moved.code, 0, moved.err);
  assert.match(await startFails(first, {}), /was moved to/);
  const second = join(folder, 'second');
  assert.equal(await inspectAll(second, servers), before);

  const node = await startNode({ dataDir: second, settings: servers });
  assert.is(
    (await request(node.url + votePath, { method: 'PUT', headers: userAuth })).status,
    429,
    'the voter still waits',
  );
  await assertLogGoesOn(node.url, logged);
  await request(`${node.url}/bots/${bot}?target=page`);
  await until('the visitor counts as a click and not as unique', async () => {
    const shown = JSON.parse((await request(`${node.url}/bots/${bot}`)).text);
    const counts = [shown.clicks, shown.unique_clicks, shown.servers].join();
    if (counts !== '2,1,12') throw new Error(counts);
    return true;
  });
  const { text } = await request(`${node.url}/bots/${bot}/shards`);
  assert.match(text, /"servers":5.*"servers":7/);
  assert.match((await move(second, servers, ['--to-data', join(folder, 'third')])).err, /node is running/);
  await node.stop();

  const atServers = await inspectAll(second, servers);
  const third = join(folder, 'third');
  const back = await move(second, servers, ['--to-data', third]);
  assert.is(back.code, 0, back.err);
  assert.match(await startFails(second, servers), /was moved to/);
  assert.equal(await inspectAll(third, {}), atServers);
  const last = await startNode({ dataDir: third });
  assert.is((await request(last.url + votePath, { method: 'PUT', headers: userAuth })).status, 429);
  await last.stop();
});

test('a directory of 128 shards gets 16', async () => {
  const [old, moved] = [join(folder, 'old'), join(folder, 'of-16')];
  await makeBareFolder(old);
  const stores = await openAtRest(old);
  await stores.sql`alter table generations drop constraint this_directory_has_16_shards`;
  await stores.sql`update store_shards set number = ${oldShardCount}`;
  await prepareStores(stores);
  await fillDirectory(stores.sql, { users: 20, bots: 10, servers: 2, teams: 1, packs: 1 });
  await stores.close();
  setShardCount(newShardCount);
  const node = await startNode({ dataDir: old });
  assert.is((await request(node.url + votePath, { method: 'PUT', headers: userAuth })).status, 204);
  await node.stop();

  const { code, err } = await move(old, {}, ['--to-data', moved]);
  assert.is(code, 0, err);
  assert.match(await startFails(old, {}), /was moved to/);
  const next = await startNode({ dataDir: moved });
  assert.is((await request(next.url + votePath, { method: 'PUT', headers: userAuth })).status, 429);
  const shown = JSON.parse((await request(`${next.url}/bots/${bot}`)).text);
  assert.is(shown.votes, 1);
  await next.stop();
  const after = await openAtRest(moved);
  assert.equal(
    [await readShardCount(after.sql), ...(await after.hot.listShardCounts())],
    [newShardCount, newShardCount],
  );
  await after.close();
});

test.run();

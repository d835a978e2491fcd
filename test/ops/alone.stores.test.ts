/**
 * One node with DATABASE_URL alone: it counts in DATA_DIR beside a real Postgres. Everything survives
 * kill -9, a backup and a restore; and no database ever gets two hot stores, by accident or on purpose. Time
 * limit: 300 s.
 */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql } from '../../storage/sql/client.ts';
import { directoryOf, importFileOf, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { spawnNode, startNode } from '../support/node-process.ts';
import { runOps } from '../support/ops-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { makeBareFolder } from '../support/sql-template.ts';
import { until } from '../support/until.ts';

const test = suite('Postgres without Redis');
const folder = makeFolder('rollcall-alone-');
const postgres = await startPostgres();
const redis = await startRedis();
test.after(async () => {
  await redis.dispose();
  await postgres.close();
});

const names = directoryOf({ users: 5, bots: 3, servers: 1, teams: 1, packs: 1 });
const [bot = '', user = ''] = [names.bots[0], names.users[1]];
const file = join(folder, 'directory.jsonl');
writeFileSync(file, importFileOf(names));
const dataDir = join(folder, 'data');
const DATABASE_URL = await postgres.database('alone');
const settings = { DATABASE_URL, ADMIN_TOKEN: 'an-operator-token-of-the-test-0123456789' };

const request = async (url: string, options: RequestInit = {}) => {
  const reply = await fetch(url, options);
  return { status: reply.status, text: await reply.text() };
};
const votePath = `/users/${user}/bots/${bot}/votes?upvote=true`;
const userAuth = { 'User-Auth': tokenOf('user', user) };
const vote = async (url: string): Promise<number> =>
  (await request(url + votePath, { method: 'PUT', headers: userAuth })).status;
const click = (url: string) => request(`${url}/bots/${bot}?target=page`);
const readBot = async (url: string) => JSON.parse((await request(`${url}/bots/${bot}`)).text);
const seenClicks = (url: string, clicks: number) =>
  until(`${clicks} clicks, one unique`, async () => {
    const shown = await readBot(url);
    if (`${shown.clicks} ${shown.unique_clicks}` !== `${clicks} 1`) throw new Error(JSON.stringify(shown));
    return true;
  });
const ops = async (args: readonly string[], dir = dataDir, more: Readonly<Record<string, string>> = {}) => {
  const { code, out, err } = await runOps(dir, args, { settings: { ...settings, ...more } });
  return { code, out, err };
};
const startFails = async (dir: string, more: Readonly<Record<string, string>> = {}): Promise<string> => {
  const node = spawnNode({ dataDir: dir, settings: { ...settings, ...more } });
  const { code } = await node.exited;
  assert.is(code, 1, node.output());
  return node.output();
};
const sql = connectSql(DATABASE_URL, { connectionsMax: 1 });
test.after(() => sql.end());

test('what it acknowledged survives kill -9, and the voter still waits', async () => {
  const imported = await ops(['import', file]);
  assert.is(imported.code, 0, imported.err);
  const node = await startNode({ dataDir, settings });
  assert.is(await vote(node.url), 204);
  await click(node.url);
  await seenClicks(node.url, 1);
  await node.kill();
  const next = await startNode({ dataDir, settings });
  assert.is(await vote(next.url), 429);
  await click(next.url);
  await seenClicks(next.url, 2);

  const again = await startFails(join(folder, 'beside'));
  assert.match(again, /Another process uses the database of DATABASE_URL without REDIS_URL/);
  await next.stop();
});

test('no other hot store is opened for its database, and no embedded directory', async () => {
  assert.match(await startFails(join(folder, 'empty')), /belongs to the hot store of another DATA_DIR/);
  assert.match(
    await startFails(join(folder, 'fleet'), { REDIS_URL: redis.url }),
    /belongs to the embedded hot store of a DATA_DIR, but REDIS_URL is set/,
  );
  const embedded = join(folder, 'embedded');
  await makeBareFolder(embedded);
  assert.match(await startFails(embedded), /has a directory on the embedded stores.*rollcall ops move/s);
  assert.match(await startFails(dataDir, { DATABASE_URL: '' }), /There is no database in DATA_DIR/);
});

test('without REDIS_URL no node starts on the database of a fleet', async () => {
  const url = await postgres.database('fleet');
  const fleet = { DATABASE_URL: url, REDIS_URL: redis.url };
  const node = await startNode({ dataDir: join(folder, 'node'), settings: { ...settings, ...fleet } });
  await node.stop();
  const forgotten = join(folder, 'forgotten');
  assert.match(
    await startFails(forgotten, { DATABASE_URL: url }),
    /was used with Redis, but REDIS_URL is not set/,
  );

  const fleetSql = connectSql(url, { connectionsMax: 1 });
  await fleetSql`insert into fleet (node, seen_at) values ('old.8080', now())`;
  const adopted = await ops(['adopt', '--yes'], forgotten, { DATABASE_URL: url });
  assert.match(adopted.err, /Other nodes use the database of DATABASE_URL \(.*old\.8080/);
  await fleetSql.end();
});

test('a lost lock is taken again; a node whose database another one took ends', async () => {
  const node = await startNode({ dataDir, settings });
  const [first] = await sql`
    select pg_terminate_backend(pid) as ended, pid from pg_stat_activity
    where application_name = 'rollcall lock' and datname = current_database()`;
  assert.is(first?.ended, true);
  const lockedBy = async () =>
    (
      await sql`
      select a.pid from pg_locks join pg_stat_activity a using (pid)
      where locktype = 'advisory' and granted and application_name = 'rollcall lock'
        and datname = current_database()`
    )[0]?.pid;
  await until('another connection has the lock', async () => {
    const pid = await lockedBy();
    return pid !== undefined && pid !== first?.pid;
  });
  assert.is((await request(`${node.url}/bots/${bot}`)).status, 200);

  await sql`update hot_store set holder = 'another'`;
  await sql`select pg_terminate_backend(${await lockedBy()})`;
  assert.is((await node.exited).code, 1);
  assert.match(node.output(), /another process has taken the database of DATABASE_URL over/);
});

test('a backup of a running node is restored to all that was acknowledged', async () => {
  const node = await startNode({ dataDir, settings });
  await click(node.url);
  await seenClicks(node.url, 3);
  const ports = { ADMIN_PORT: new URL(node.adminUrl).port };
  const backup = join(folder, 'backup');
  const made = await ops(['backup', backup], dataDir, ports);
  assert.is(made.code, 0, made.err);
  const exported = await ops(['export', join(folder, 'export.jsonl')], dataDir, ports);
  assert.is(exported.code, 0, exported.err);
  assert.match(readFileSync(join(folder, 'export.jsonl'), 'utf8'), /"kind":"vote"/);
  await node.stop();
  const stopped = await ops(['backup', join(folder, 'backup-stopped')]);
  assert.is(stopped.code, 0, stopped.err);

  for (const [index, from] of [backup, join(folder, 'backup-stopped')].entries()) {
    const into = join(folder, `restored-${index}`);
    const place = { DATABASE_URL: await postgres.database(`restored_${index}`) };
    const restored = await ops(['restore', from], into, place);
    assert.is(restored.code, 0, restored.err);
    assert.match((await ops(['restore', from], into, place)).err, /is not empty/);
    const next = await startNode({ dataDir: into, settings: { ...settings, ...place } });
    assert.is(await vote(next.url), 429);
    await seenClicks(next.url, 3);
    await next.stop();
  }
});

test('a restore that was interrupted goes on', async () => {
  const into = join(folder, 'interrupted');
  const place = { DATABASE_URL: await postgres.database('interrupted') };
  const draft = join(into, 'restore.unfinished');
  cpSync(dataDir, draft, { recursive: true });
  cpSync(join(dataDir, 'hot'), join(into, 'hot'), { recursive: true });
  const restored = await ops(['restore', join(folder, 'backup')], into, place);
  assert.is(restored.code, 0, restored.err);
  assert.not(existsSync(draft));
  const next = await startNode({ dataDir: into, settings: { ...settings, ...place } });
  await seenClicks(next.url, 3);
  await next.stop();
});

test('a lost DATA_DIR is replaced by `adopt`, which says what is lost', async () => {
  rmSync(dataDir, { recursive: true });
  assert.match(await startFails(dataDir), /belongs to the hot store of another DATA_DIR/);
  const outcome = await ops(['adopt']);
  assert.is(outcome.code, 2);
  assert.match(outcome.err, /Lost with the former hot store.*which visitors were counted/s);
  assert.is((await ops(['adopt', '--yes'])).code, 0);
  const node = await startNode({ dataDir, settings });
  const { clicks, votes } = await readBot(node.url);
  assert.equal([clicks, votes], [3, 1]);
  assert.is(await vote(node.url), 429);
  await node.stop();
});

test.run();

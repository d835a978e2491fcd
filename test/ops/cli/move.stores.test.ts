/**
 * A directory moves from the embedded stores to servers and back: `inspect` finds no difference, visitors,
 * last votes and shards of bots go with it, and of the two at most one starts.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Queryable } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { openStream } from '../../http/feed/clients.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { makeDataFolder, openAtRest, tokenOf } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { spawnNode, startNode } from '../../support/node-process.ts';
import { runOps } from '../../support/ops-process.ts';
import { addFindings, listOriginRows } from '../../support/origin-rows.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { openMigratedSql } from '../../support/sql-template.ts';
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
const [lateBot = '', lateUser = ''] = [directory.bots[5], directory.users[9]];

const request = async (url: string, options: RequestInit = {}) => {
  const reply = await fetch(url, options);
  return { status: reply.status, text: await reply.text() };
};

const votePath = `/users/${user}/bots/${bot}/votes?upvote=true`;
const userAuth = { 'User-Auth': tokenOf('user', user) };
const botAuth = { 'Bot-Auth': tokenOf('bot', bot) };

/** A busy node may answer that the newest votes are not in SQL yet. */
const readLog = async (url: string, query: string) => {
  let [status, text] = [503, ''];
  await until('the log answers', async () => {
    ({ status, text } = await request(`${url}/bots/${bot}/votes/log${query}`));
    return status !== 503;
  });
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

const postParts = async (url: string): Promise<void> => {
  const parts = {
    shard_count: 2,
    shards: [
      { id: 0, servers: 5 },
      { id: 1, servers: 7 },
    ],
  };
  const posted = await request(`${url}/bots/stats/shards`, {
    method: 'POST',
    headers: botAuth,
    body: JSON.stringify(parts),
  });
  assert.is(posted.status, 200, posted.text);
};

/** The id with which a feed of the bot's votes goes on after those of now. */
const readEventId = async (url: string): Promise<string> => {
  const stream = await openStream(url, `targets=bot/${bot}&channels=votes`);
  const { id } = await stream.next('hello');
  stream.close();
  return id;
};

/** The id of an event from before the move leads to the votes since. */
const assertFeedGoesOn = async (url: string, id: string): Promise<void> => {
  const stream = await openStream(url, `targets=bot/${bot}&channels=votes`, { 'Last-Event-ID': id });
  const { data } = await stream.find(({ event }) => event !== 'hello');
  const events = stream.messages.map(({ event }) => event);
  stream.close();
  assert.equal([data.number, data.author, ...events], [2, otherUser, 'hello', 'vote']);
};

/** Indexes, constraints, triggers and columns, by their table. */
const readSchema = async (sql: Queryable): Promise<readonly { of: string; part: string }[]> => sql`
  with here as (
    select oid, relname from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p'))
  select relname as of, format('index %s %s', indisvalid, pg_get_indexdef(indexrelid)) as part
    from pg_index join here on oid = indrelid
  union all select relname, format('constraint %s %s %s', conname, convalidated, pg_get_constraintdef(k.oid))
    from pg_constraint k join here on here.oid = conrelid
  union all select relname, format('trigger %s %s', tgenabled, pg_get_triggerdef(t.oid))
    from pg_trigger t join here on here.oid = tgrelid where not tgisinternal
  union all select relname, format('column %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull)
    from pg_attribute join here on oid = attrelid where attnum > 0
  order by 1, 2`;

/** A moved directory may have more partitions than a new one. */
const assertSchema = async (moved: Queryable, fresh: Queryable): Promise<void> => {
  const expected = await readSchema(fresh);
  const tables = new Set(expected.map(({ of }) => of));
  const found = (await readSchema(moved)).filter(({ of }) => tables.has(of));
  assert.ok(tables.size > 50, `${tables.size} tables`);
  assert.equal([...found], [...expected]);
};

const assertServerSchema = async (databaseUrl: string): Promise<void> => {
  const moved = await openServerSql(databaseUrl);
  const fresh = await openServerSql(await postgres.database('fresh'));
  await migrate(fresh.sql);
  await assertSchema(moved.sql, fresh.sql);
  await Promise.all([moved.close(), fresh.close()]);
};

const assertEmbeddedSchema = async (dataDir: string): Promise<void> => {
  const moved = await openAtRest(dataDir);
  const fresh = await openMigratedSql(join(folder, 'fresh'));
  await assertSchema(moved.sql, fresh.sql);
  await Promise.all([moved.close(), fresh.close()]);
};

const readOrigins = async (dataDir: string, databaseUrl?: string): Promise<readonly string[]> => {
  const stores = databaseUrl === undefined ? await openAtRest(dataDir) : await openServerSql(databaseUrl);
  const rows = await listOriginRows(stores.sql);
  await stores.close();
  return rows;
};

/** Leaves findings in SQL, and a vote with an origin there or in the outbox. */
const leaveOrigins = async (dataDir: string): Promise<readonly string[]> => {
  const stores = await openAtRest(dataDir);
  await addFindings(stores.sql);
  await stores.close();
  const node = await startNode({ dataDir, settings: { FLUSH_INTERVAL_MS: '60000' } });
  const late = { method: 'PUT', headers: { 'User-Auth': tokenOf('user', lateUser) } };
  const path = votePath.replace(user, lateUser).replace(bot, lateBot);
  assert.is((await request(node.url + path, late)).status, 204);
  await node.kill();
  return readOrigins(dataDir);
};

/** All rows of before, and that of the late vote: from the same address, so with the same hashes. */
const assertOriginsGoOn = (rows: readonly string[], before: readonly string[]): void => {
  const later = rows.filter((row) => row.includes(lateUser));
  assert.is(later.length, 1, rows.join('\n'));
  const readHashes = (row = '') => /"address_hash":.*"agent_hash":-?\d+/.exec(row)?.[0];
  const earlier = before.find((row) => row.startsWith('origin'));
  assert.is.not(readHashes(earlier), undefined);
  assert.is(readHashes(later[0]), readHashes(earlier));
  for (const row of before) assertIncludes(rows, row, row);
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

test('a wrong address is named by its option', async () => {
  const [first, data] = [join(folder, 'first'), ['--to-data', join(folder, 'nowhere')]];
  const unreadable = await move(first, {}, ['--to-database', 'nonsense', ...data]);
  const unused = await move(first, {}, ['--to-database', 'postgres://127.0.0.1:1/none', ...data]);

  assert.equal([unreadable.code, unused.code], [2, 1]);
  assert.match(unreadable.err, / --to-database is something else \(not shown\) but must be a postgres:/);
  assert.match(unused.err, /^--to-database: Postgres at 127\.0\.0\.1:1: nothing listens there\. /);
});

test('embedded to servers and back: nothing is lost, and the former stores do not start', async () => {
  const first = join(folder, 'first');
  const counting = await startNode({ dataDir: first });
  assert.is((await request(counting.url + votePath, { method: 'PUT', headers: userAuth })).status, 204);
  await request(`${counting.url}/bots/${bot}?target=page`);
  await postParts(counting.url);
  const logged = await readLog(counting.url, '');
  const eventId = await readEventId(counting.url);
  await counting.stop();
  const origins = await leaveOrigins(first);

  const servers = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('moved') };
  const before = await inspectAll(first, {});
  const toServers = ['--to-redis', servers.REDIS_URL, '--to-database', servers.DATABASE_URL];
  const moved = await move(first, {}, toServers);
  assert.is(moved.code, 0, moved.err);
  assert.match(await startFails(first, {}), /was moved to/);
  const second = join(folder, 'second');
  assert.equal(await inspectAll(second, servers), before);
  await assertServerSchema(servers.DATABASE_URL);
  assertOriginsGoOn(await readOrigins(second, servers.DATABASE_URL), origins);

  const node = await startNode({ dataDir: second, settings: servers });
  assert.is(
    (await request(node.url + votePath, { method: 'PUT', headers: userAuth })).status,
    429,
    'the voter still waits',
  );
  await assertLogGoesOn(node.url, logged);
  await assertFeedGoesOn(node.url, eventId);
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

  const originsAtServers = await readOrigins(second, servers.DATABASE_URL);
  const atServers = await inspectAll(second, servers);
  const third = join(folder, 'third');
  const back = await move(second, servers, ['--to-data', third]);
  assert.is(back.code, 0, back.err);
  assert.match(await startFails(second, servers), /was moved to/);
  assert.equal(await inspectAll(third, {}), atServers);
  assert.equal(await readOrigins(third), originsAtServers);
  await assertEmbeddedSchema(third);
  const last = await startNode({ dataDir: third });
  await assertFeedGoesOn(last.url, eventId);
  assert.is((await request(last.url + votePath, { method: 'PUT', headers: userAuth })).status, 429);
  await last.stop();
});

test.run();

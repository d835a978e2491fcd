/**
 * Single connections to Postgres that end at a bad moment: what the next work on them gets, and work that
 * has a connection for itself.
 */
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql, runTransaction, type Sql } from '../../../storage/sql/client.ts';
import { asStorage } from '../../../storage/sql/errors.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { buildSearchIndex } from '../../../storage/sql/search-index.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { takeSessionLock } from '../../../storage/sql/session-lock.ts';
import { openCutProxy } from '../../support/cut-proxy.ts';
import { close as closeServer, listen } from '../../support/loopback.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';
import { reasonOf } from '../ledger/contract.ts';

const test = suite('lost connections to postgres');
const server = await startPostgres();
const admin = connectSql(await server.database('admin'));
test.after(async () => {
  await admin.end();
  await server.close();
});

const endOf = (statement: Promise<unknown>): Promise<string> =>
  reasonOf(asStorage('statement', () => statement));
/** Runs a statement on each connection of a pool at once. */
const onEach = <Result>(run: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: 10 }, run));
/** Ends the connections whose statement matches, once there are so many. */
const endSessions = async (statement: RegExp, count: number): Promise<void> => {
  const found = () => admin<{ pid: number }[]>`
    select pid from pg_stat_activity where query ~ ${statement.source} and pid <> pg_backend_pid()`;
  await until('the statements run', async () => (await found()).length === count);
  await admin`select pg_terminate_backend(pid) from pg_stat_activity
    where query ~ ${statement.source} and pid <> pg_backend_pid()`;
};
const readOnes = async (sql: Sql): Promise<unknown[]> =>
  (await onEach(async () => [...(await sql<{ one: number }[]>`select 1 as one`)])).flat();
const ones = Array.from({ length: 10 }, () => ({ one: 1 }));

test('after a statement that failed behind its first rows the next one has all rows', async () => {
  const { sql, close } = await openServerSql(await server.database('cut_short'));
  const ends = await onEach(() => endOf(sql`select 1 / (1000 - n) from generate_series(1, 2000) as n`));
  assert.equal([...new Set(ends)], ['row not_applied']);

  assert.equal(await readOnes(sql), ones);
  await close();
});

test('after such a statement a missing index is built', async () => {
  const { sql, close } = await openServerSql(await server.database('cut_build'), { connectionsMax: 1 });
  await migrate(sql);
  await sql`drop index search_words`;
  // On the only connection, between finding the missing index and building it.
  const built = buildSearchIndex(sql);
  await endOf(sql`select 1 / (1000 - n) from generate_series(1, 2000) as n`);

  assert.is(await built, true);
  await close();
});

test('after a connection that ended behind the first rows the next statement has all rows', async () => {
  const { sql, getLastError, close } = await openServerSql(await server.database('broken_off'));
  const cut = onEach(() =>
    endOf(sql`
      select n, case when n = 5000 then pg_sleep(60)::text end from generate_series(1, 9000) as n`),
  );
  await endSessions(/pg_sleep/, 10);
  assert.equal([...new Set(await cut)], ['unreachable unknown']);
  await until('it is back', async () => getLastError() === null);

  assert.equal(await readOnes(sql), ones);
  await close();
});

for (const [what, forget] of Object.entries({
  'a table gets another column': (sql: Sql) => sql`alter table kept add column later text`,
  'a pooler discards what the session has': (sql: Sql) =>
    onEach(async () => {
      await sql`select pg_sleep(0.2)`;
      await sql.unsafe('discard all');
    }),
}))
  test(`prepared statements that end are prepared again, and no rows are mixed up: ${what}`, async () => {
    const { sql, close } = await openServerSql(await server.database(`prepared_${what.length}`));
    await sql`create table kept as select id from generate_series(0, 99) as id`;
    const read = async (count: number): Promise<readonly number[]> => {
      const ids = Array.from({ length: count }, (_, index) => index % 100);
      const rows = ids.map((id) =>
        id % 2 === 0
          ? sql<{ id: number }[]>`select * from kept where id = ${id}`
          : sql<{ id: number }[]>`select ${id}::int as id, pg_sleep(0.002)`,
      );
      return (await Promise.all(rows)).map(([row], index) => (row?.id ?? -1) - (ids[index] as number));
    };
    assert.equal(new Set(await read(1_000)), new Set([0]));

    await forget(sql);
    assert.equal(new Set(await read(400)), new Set([0]));
    const inTransactions = onEach(() =>
      runTransaction(sql, 'reading', (transaction) => transaction`select * from kept where id = ${1}`),
    );
    assert.is((await inTransactions).flat().length, 10);
    await close();
  });

test('a connection that is lost while it builds an index ends only the build', async () => {
  const { sql, getLastError, close } = await openServerSql(await server.database('indexed'));
  await migrate(sql);
  await sql`drop index search_words`;
  const building = sql.begin(async (transaction) => {
    await transaction`lock table search_entries in row exclusive mode`;
    const built = reasonOf(buildSearchIndex(sql));
    await endSessions(/^\s*create index concurrently/, 1);
    return built;
  });

  assert.is(await building, 'unreachable unknown');
  await until('it is back', async () => getLastError() === null);
  assert.is(await buildSearchIndex(sql), true);
  await close();
});

/** What Postgres says while it recovers from a crash. */
const buildRefusal = (): Buffer => {
  const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up', ''];
  const message = Buffer.from(`E    ${fields.map((field) => `${field}\0`).join('')}`);
  message.writeUInt32BE(message.length - 1, 1);
  return message;
};

test('a server that crashed and recovers gets few connections, although work was waiting', async () => {
  let connections = 0;
  const recovering = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.once('data', () => socket.end(buildRefusal()));
  });
  const port = await listen(recovering);
  const proxy = await openCutProxy(server.port);
  const address = (await server.database('crashed')).replace(`:${server.port}/`, `:${proxy.port}/`);
  const { sql, getLastError, close } = await openServerSql(address);
  const waiting = Array.from({ length: 50 }, (_, index) => endOf(sql`select pg_sleep(60), ${index}::int`));
  await setTimeout(500);

  proxy.redirect(port);
  assert.equal([...new Set(await Promise.all(waiting))], ['unreachable unknown']);
  await setTimeout(5_000);
  connections = 0;
  await setTimeout(2_000);
  assert.ok(connections < 10, `${connections} connections in 2 s`);

  proxy.redirect(server.port);
  await until('it is back', async () => getLastError() === null);
  assert.equal(await readOnes(sql), ones);
  await close();
  await proxy.close();
  await closeServer(recovering);
});

test('a connection that ends while the start checks the server is not mistaken for a pooler', async () => {
  const proxy = await openCutProxy(server.port);
  // The check takes about a second.
  proxy.delay(20);
  const address = (await server.database('checked')).replace(`:${server.port}/`, `:${proxy.port}/`);
  const endOne = () => admin`
    select pg_terminate_backend(pid) from (
      select pid from pg_stat_activity where datname = 'checked' and state = 'idle' limit 1) as one`;
  const reports: string[] = [];
  for (let round = 0; round < 3; round++) {
    const opened = openServerSql(address).then(
      ({ close }) => close(),
      ({ message }: Error) => void reports.push(message),
    );
    await setTimeout(600);
    await until('one has ended', async () => (await endOne()).length > 0);
    await opened;
  }

  assert.equal(
    reports.filter((report) => /pooler/.test(report)),
    [],
  );
  await proxy.close();
});

test('a transaction whose task loses the connection of another pool is rolled back at once', async () => {
  const { sql, getLastError, close } = await openServerSql(await server.database('two_pools'));
  const other = connectSql(await server.database('other_pool'));
  const failed = sql.begin(async (transaction) => {
    await transaction`create table never (number int)`;
    await other`select pg_sleep(60), 'of another pool'`;
  });
  const end = Promise.race([endOf(failed), setTimeout(5_000, 'it hangs', { ref: false })]);
  await endSessions(/of another pool/, 1);

  assert.is(await end, 'unreachable unknown');
  await until('it is back', async () => getLastError() === null);
  assert.is((await sql`select to_regclass('never') as found`)[0]?.found, null);
  await other.end({ timeout: 0 });
  await close();
});

test('a session lock that is lost while it is taken again is taken once more', async () => {
  const address = await server.database('taken_again');
  const sql = connectSql(address);
  const endLock = () => admin`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rollcall lock'`;
  const countLocks = async (): Promise<number> =>
    (await admin`select from pg_locks where locktype = 'advisory' and granted`).length;
  let checks = 0;
  const isHolder = async (): Promise<boolean> => {
    checks += 1;
    if (checks > 1) return true;
    await endLock();
    await until('the lock is free', async () => (await countLocks()) === 0);
    return true;
  };
  const lock = await takeSessionLock(address, { isHolder, onLost: () => {} });
  assert.is(await countLocks(), 1);

  await endLock();
  await until('it was lost twice', () => checks > 0);
  await until('it has the lock', async () => (await countLocks()) === 1);
  await lock.release();
  await sql.end();
});

test.run();

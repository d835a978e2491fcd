/**
 * Postgres goes away: operations that need SQL fail at once. (Flushes that survive it are in
 * test/faults/cases/postgres-flusher-outage.test.ts.) Time limit: 240 s.
 */
import { setTimeout } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { endTimeLimits } from '../../../storage/move/sql-copy.ts';
import { openStores } from '../../../storage/open.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { asStorage } from '../../../storage/sql/errors.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { commandSilenceMaxMs, openServerSql } from '../../../storage/sql/server.ts';
import { openCutProxy } from '../../support/cut-proxy.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';
import { reasonOf } from '../ledger/contract.ts';

const test = suite('outage of postgres');
const endOf = (statement: Promise<unknown>): Promise<string> =>
  reasonOf(asStorage('statement', () => statement));
const server = await startPostgres();
test.after(() => server.close());

test('a database without writes refuses the start, and a refused login counts as away', async () => {
  const address = await server.database('guarded');
  const { sql: admin, close: closeAdmin } = await openServerSql(address);
  await admin`alter database guarded set default_transaction_read_only = on`;
  const refusal = await openServerSql(address).catch((error: Error) => error);
  assert.match(String(refusal), /DATABASE_URL: that server takes no writes.*default_transaction_read_only/);

  await admin`alter database guarded reset default_transaction_read_only`;
  await admin`create role visitor login`;
  const visitor = await openServerSql(address.replace('//rollcall@', '//visitor@'));
  await admin`alter role visitor nologin`;
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'visitor'`;
  const why = () =>
    visitor.sql`select 1`.then(
      () => visitor.getLastError(),
      () => visitor.getLastError(),
    );
  await until('it is away', async () => /not permitted to log in/.test((await why()) ?? ''));
  await admin`alter role visitor login`;
  await until('it is back', async () => (await why()) === null);
  await Promise.all([visitor.close(), closeAdmin()]);
});

test('while Postgres is away every operation fails at once, and then works again', async () => {
  const { sql, getLastError, close } = await openServerSql(await server.database('away'));
  await migrate(sql);
  const ledger = createLedger(sql);
  const find = () => ledger.find([{ kind: 'bot', id: 'unknown' }]);
  assert.equal(await find(), [null]);
  await server.stop('fast');
  const isAway = async () =>
    (await reasonOf(find())) === 'unreachable not_applied' && getLastError() !== null;
  await until('in time', isAway);

  const startedMs = performance.now();
  for (let count = 0; count < 100; count++) {
    assert.is(await reasonOf(find()), 'unreachable not_applied');
    assert.is(await reasonOf(ledger.takeGeneration([], 0)), 'unreachable not_applied');
  }
  assert.ok((performance.now() - startedMs) / 200 < 100, 'none waited for a connection');
  await server.start();
  await until('in time', async () => (await reasonOf(find())) === 'resolved');
  assert.is(getLastError(), null);
  await close();
});

test('a server that stops answering is detected, and its pending calls end as unknown', async () => {
  const { sql, close } = await openServerSql(await server.database('paused'));
  await migrate(sql);
  const ledger = createLedger(sql);
  server.signalAll('SIGSTOP');
  try {
    const startedMs = performance.now();
    assert.is(await reasonOf(ledger.readGenerations()), 'unreachable unknown');
    assert.ok(performance.now() - startedMs < 30_000);
    assert.is(await reasonOf(ledger.readGenerations()), 'unreachable not_applied');
  } finally {
    server.signalAll('SIGCONT');
  }
  await until('in time', async () => (await reasonOf(ledger.readGenerations())) === 'resolved');
  await close();
});

test('slow work goes on while the server has no connection left for others', async () => {
  const address = await server.database('crowded');
  const { sql: admin, close: closeAdmin } = await openServerSql(address);
  await admin`create role guest login`;
  const { sql, getLastError, close } = await openServerSql(address.replace('//rollcall@', '//guest@'));
  await admin`alter role guest connection limit 1`;
  const slow = endOf(sql`select pg_sleep(4)`);
  await setTimeout(500);
  assert.is(await endOf(sql`select 1`), 'busy not_applied', 'no connection is left');
  await setTimeout(3_000);
  assert.is(getLastError(), null);
  assert.is(await slow, 'resolved');
  await Promise.all([close(), closeAdmin()]);
});

test('connections that a firewall forgot are replaced, and what waits on them ends as unknown', async () => {
  const proxy = await openCutProxy(server.port);
  const address = await server.database('forgotten');
  const events: string[] = [];
  const { sql, getLastError, close } = await openServerSql(
    address.replace(`:${server.port}/`, `:${proxy.port}/`),
    { onReplaced: (message) => events.push(message) },
  );
  await Promise.all(Array.from({ length: 10 }, () => sql`select pg_sleep(0.1)`));
  proxy.forget();
  const hanging = await Promise.all([
    reasonOf(sql`select 1`),
    reasonOf(sql.begin((transaction) => transaction`select 2`)),
  ]);

  assert.equal(hanging, ['unreachable unknown', 'unreachable unknown']);
  const [row] = await sql<{ names: string[] }[]>`select array['a', 'b'] as names`;
  assert.equal(row?.names, ['a', 'b'], 'the types are known');
  assert.is(getLastError(), null);
  assert.equal(events.length, 1);
  assert.match(events[0] ?? '', /^Postgres left all work without an answer for 30 s.*are replaced$/);
  await Promise.all([close(), proxy.close()]);
});

test('connections to a server that took no writes are replaced once it takes them again', async () => {
  const address = await server.database('demoted');
  const { sql: admin, close: closeAdmin } = await openServerSql(await server.database('observer'));
  const { sql, close } = await openServerSql(address);
  await sql`create table kept (id bigint)`;
  const write = () => endOf(sql`insert into kept values (1)`);
  await admin`alter database demoted set default_transaction_read_only = on`;
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'demoted'`;
  await until('it is read-only', async () => (await write()) === 'busy not_applied');
  await admin`alter database demoted reset default_transaction_read_only`;

  await until('it is written to', async () => (await write()) === 'resolved');
  await Promise.all([close(), closeAdmin()]);
});

test('work that waits for a connection is done although the connections are replaced', async () => {
  const address = await server.database('crowded_standby');
  const { sql: admin, close: closeAdmin } = await openServerSql(await server.database('crowd_observer'));
  const { sql, close } = await openServerSql(address);
  await sql`create table kept (id bigint)`;
  await admin`alter database crowded_standby set default_transaction_read_only = on`;
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'crowded_standby'`;
  await until('it connects again', async () => (await endOf(sql`select 1`)) === 'resolved');
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'crowded_standby'`;
  await setTimeout(200);
  const write = endOf(sql`insert into kept values (1)`);
  const reads = Array.from({ length: 39 }, () => endOf(sql`select 1`));
  assert.is(await write, 'busy not_applied');
  assert.equal([...new Set(await Promise.all(reads))], ['resolved']);
  await Promise.all([close(), closeAdmin()]);
});

test('connections that the server closed during statements fail no later work', async () => {
  const address = await server.database('restarted');
  const { sql: admin, close: closeAdmin } = await openServerSql(await server.database('restart_observer'));
  const { sql, getLastError, close } = await openServerSql(address);
  const sleeping = Array.from({ length: 10 }, () => endOf(sql`select pg_sleep(60)`));
  const running = () =>
    admin`select 1 from pg_stat_activity where datname = 'restarted' and query ~ 'pg_sleep'`;
  await until('all run', async () => (await running()).length === 10);
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'restarted'`;
  assert.equal([...new Set(await Promise.all(sleeping))], ['unreachable unknown']);
  await until('it is back', async () => getLastError() === null);

  const transaction = endOf(sql.begin((begun) => begun`select 2`));
  const later = Array.from({ length: 9 }, () => endOf(sql`select 1`));
  assert.equal([...new Set(await Promise.all([transaction, ...later]))], ['resolved']);
  await Promise.all([close(), closeAdmin()]);
});

test('a command waits for a server that is silent for seconds', async () => {
  const address = await server.database('patient');
  const [node, command] = [
    await openServerSql(address),
    await openServerSql(address, { silenceMaxMs: commandSilenceMaxMs }),
  ];
  const sleep = (sql: Sql) =>
    sql.begin(async (transaction) => {
      await endTimeLimits(transaction);
      await transaction`select pg_sleep(0.5)`;
    });
  const [asNode, asCommand] = [reasonOf(sleep(node.sql)), reasonOf(sleep(command.sql))];
  await setTimeout(200);
  server.signalAll('SIGSTOP');
  try {
    assert.is(await asNode, 'unreachable unknown');
    await setTimeout(2_000);
  } finally {
    server.signalAll('SIGCONT');
  }

  assert.is(await asCommand, 'resolved');
  assert.is(command.getLastError(), null);
  await Promise.all([node.close(), command.close()]);
});

test('a missing server or database stops the start with a message', async () => {
  const unreachable = await openServerSql('postgres://nobody@127.0.0.1:1/none').catch(
    (error) => error.message,
  );
  assert.match(unreachable, /DATABASE_URL: Postgres at 127.0.0.1:1: nothing listens there.*ECONNREFUSED/);
  const missing = await openServerSql(`postgres://rollcall@127.0.0.1:${server.port}/none`).catch(
    (error) => error.message,
  );
  assert.match(missing, /DATABASE_URL.*does not exist. Create it.*"none" does not exist/);
});

test('a missing Redis stops the start with a message, and Postgres is disconnected', async () => {
  const database = await server.database('without_redis');
  const stores = {
    dataDir: '',
    redisUrl: ['redis://:secret@127.0.0.1:1'],
    databaseUrl: database,
  };
  const options = { clock: Date.now, onWarning: () => undefined, onLost: () => undefined };
  const message = await openStores(stores, options).catch((error) => error.message);

  assert.match(message, /^REDIS_URL: Redis at 127\.0\.0\.1:1: nothing listens there\. .*ECONNREFUSED/);
});

test.run();

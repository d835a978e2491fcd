/**
 * Notes about a Postgres that answers and yet needs its operator, on a real one: each comes with the work
 * that meets it, and goes when work has not met it for longer than the pause between two heartbeats.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NoteName } from '../../../engine/tools/notes.ts';
import { createDriver, type Sql } from '../../../storage/sql/client.ts';
import { openServerSql, type ServerSql } from '../../../storage/sql/server.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';

const test = suite('notes about Postgres');
const server = await startPostgres();
const address = await server.database('noted');
const admin = createDriver(address, { max: 1 });
test.after(async () => {
  await admin.end();
  await server.close();
});

const attempt = (sql: Sql) => sql`insert into numbers values (1)`.then(String, String);

const hasNote = ({ listNotes }: ServerSql, name: NoteName): boolean =>
  listNotes().some((note) => note.startsWith(name));

test('a read-only database, commits without a standby, no connection left: each comes and goes', async () => {
  await admin`create table numbers (number bigint)`;
  await admin`create role few login connection limit 3`;
  const node = await openServerSql(address);
  const few = await openServerSql(address.replace('//rollcall@', '//few@'));
  await attempt(node.sql);
  for (const name of ['sql_read_only', 'sql_commits_wait', 'sql_connections', 'sql_away'] as const)
    assertNoNote(name, [...node.listNotes(), ...few.listNotes()]);

  await Promise.allSettled(Array.from({ length: 8 }, () => few.sql`select pg_sleep(0.2)`));
  assertNote('sql_connections', few.listNotes());
  assert.match(few.listNotes().join(), /ALTER ROLE … CONNECTION LIMIT/);

  await admin`alter system set synchronous_standby_names = 'absent'`;
  await admin`select pg_reload_conf()`;
  await until('it is set', async () => {
    const [row] = await node.sql<{ names: string }[]>`
      select current_setting('synchronous_standby_names') as names`;
    return row?.names === 'absent';
  });
  const waiting = attempt(node.sql);
  await until('commits wait', () => hasNote(node, 'sql_commits_wait'));
  assertNote('sql_commits_wait', node.listNotes());
  await admin`alter system reset synchronous_standby_names`;
  await admin`select pg_reload_conf()`;
  assert.is(await waiting, '');

  await admin`alter database noted set default_transaction_read_only = on`;
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rollcall'
    and pid <> pg_backend_pid()`;
  await until('it is read-only', async () => {
    await attempt(node.sql);
    return hasNote(node, 'sql_read_only');
  });
  assertNote('sql_read_only', node.listNotes());
  await admin.unsafe('set default_transaction_read_only = off');
  await admin`alter database noted reset default_transaction_read_only`;

  await until('all are gone', () => [node, few].every(({ listNotes }) => listNotes().length === 0));
  assertNoNote('sql_connections', few.listNotes());
  assertNoNote('sql_commits_wait', node.listNotes());
  assertNoNote('sql_read_only', node.listNotes());
  assert.is(await attempt(node.sql), '');
  await Promise.all([node.close(), few.close()]);
});

test('weak settings are noted at the start, and an absent server while it is absent', async () => {
  const unsafe = await startPostgres({ settings: { fsync: 'off' } });
  const weak = await openServerSql(await unsafe.database('weak'));
  assertNote('sql_weak', weak.listNotes());
  const node = await openServerSql(address);
  assertNoNote('sql_weak', node.listNotes());
  assertNoNote('sql_pooler', node.listNotes());

  await server.stop('fast');
  await node.sql`select 1`.catch(() => {});
  await until('it is away', () => hasNote(node, 'sql_away'));
  assertNote('sql_away', node.listNotes());
  await server.start();
  await until('it is back', () => !hasNote(node, 'sql_away'));
  assertNoNote('sql_away', node.listNotes());
  await Promise.all([weak.close(), node.close()]);
  await unsafe.close();
});

test.run();

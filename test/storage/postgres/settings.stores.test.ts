/**
 * A role or a database with any other settings gives the same as a plain one. (`SETTINGS=other` runs any test
 * on such a database.)
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { otherSettings, writeChange } from '../../../bench/shared/other-settings.ts';
import { readDemoLines } from '../../../ops/demo/demo.ts';
import { findPrograms } from '../../../storage/backup/programs.ts';
import { importLines } from '../../../storage/import/import.ts';
import { writeCopy } from '../../../storage/move/sql-copy.ts';
import { connectSql, createDriver, type Sql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { pinnedSettings } from '../../../storage/sql/settings.ts';
import { makeFolder } from '../../support/folder.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { dump } from '../import/store.ts';

const test = suite('settings of roles and databases');
const server = await startPostgres();
const address = await server.database('plain');
const otherAddress = await server.database('other');
const admin = createDriver(otherAddress, { max: 1 });
test.after(async () => {
  await admin.end();
  await server.close();
});

const names = Object.keys(pinnedSettings);
const readSettings = async (url: string): Promise<string[]> => {
  const sql = connectSql(url, { connectionsMax: 1 });
  const rows = await sql<{ line: string }[]>`
    select name || ' = ' || setting as line from pg_settings where name = any(${names}) order by name`;
  await sql.end();
  return rows.map(({ line }) => line);
};

test('the table has every setting of a session, or its category is one that changes no result', async () => {
  const categories =
    '^(Query Tuning|Resource Usage|Vacuuming|Autovacuum|Reporting and Logging|Statistics|' +
    'Write-Ahead Log|Developer Options|Connections and Authentication|Replication)';
  const leftOut = {
    'which files and libraries are used':
      'default_tablespace temp_tablespaces default_toast_compression dynamic_library_path ' +
      'extension_destdir local_preload_libraries session_preload_libraries',
    'what a server does by itself': 'gin_pending_list_limit deadlock_timeout createrole_self_grant',
    'what nothing here uses':
      'default_text_search_config event_triggers lo_compat_privileges ' +
      'icu_validation_level allow_alter_system',
    'words of messages, which nothing here reads': 'lc_messages application_name update_process_title',
    'set by each transaction': 'transaction_deferrable transaction_isolation transaction_read_only',
    'a start refuses it, since it may protect a full disk': 'default_transaction_read_only',
    'set from what is in the database': 'search_path',
  };
  const known = [...names, ...Object.values(leftOut).flatMap((line) => line.split(' '))];
  const unknown = await admin`
    select name, category from pg_settings where context in ('user', 'superuser')
      and category !~ ${categories} and name !~ '^vacuum_' and name <> all(${known})`;
  assert.equal([...unknown], []);
});

test('each one alone, of a role or of a database, is set for our connections', async () => {
  await admin.unsafe(writeChange('other'));
  const plain = await readSettings(address);
  assert.equal(await readSettings(otherAddress), plain, 'all together');
  await admin`alter database other reset all`;

  await admin`create role modest login`;
  const modest = otherAddress.replace('//rollcall@', '//modest@');
  await admin`create access method other_heap type table handler heap_tableam_handler`;
  const others = { ...otherSettings, default_table_access_method: 'other_heap' };
  for (const [name, value] of Object.entries(others)) {
    if (!plain.some((line) => line.startsWith(name))) continue;
    await admin.unsafe(`alter role modest set ${name} = '${value}'`);
    assert.equal(await readSettings(modest), plain, name);
    await admin`alter role modest reset all`;
  }
});

test('one that the role may not change stops the start by its name', async () => {
  const modest = otherAddress.replace('//rollcall@', '//modest@');
  for (const [name, value] of [
    ['session_replication_role', 'replica'],
    ['zero_damaged_pages', 'on'],
    ['ignore_checksum_failure', 'on'],
  ]) {
    await admin.unsafe(`alter role modest set ${name} = '${value}'`);
    const refusal = await openServerSql(modest).catch(String);
    assert.match(String(refusal), `DATABASE_URL: ${name} is "${value}" there`);
    await admin`alter role modest reset all`;
  }
});

/** The demo directory, on the fifth of March, whose day is a month, too. */
const demoLines = readDemoLines(Date.UTC(2026, 2, 5));

test('import, export and move give the same bytes, from and to such a database', async () => {
  await admin.unsafe(writeChange('other'));
  const [plain, other] = [await openServerSql(address), await openServerSql(otherAddress)];
  for (const { sql } of [plain, other]) await migrate(sql);
  await importLines(plain.sql, demoLines);
  const right = await dump(plain.sql);
  await importLines(other.sql, right.split('\n').slice(0, -1));
  assert.is(await dump(other.sql), right);

  const text = (sql: Sql) => sql`select t::text as row from votes as t order by itag`;
  for (const [from, to] of [
    [other, plain],
    [plain, other],
  ] as const) {
    const rows = await text(from.sql);
    await to.sql.begin((target) => writeCopy([from.sql, target], () => {}));
    assert.is(await dump(to.sql), right);
    assert.equal(await text(to.sql), rows);
  }
  await Promise.all([plain.close(), other.close()]);
});

test('a dump is restored to such a database, with nothing in its arrays', async () => {
  const [from, to] = [await server.database('dumped'), await server.database('restored')];
  const [source, target] = [createDriver(from, { max: 1 }), createDriver(to, { max: 1 })];
  await source`create table listed as select array[1, null]::int[] as numbers, date '2026-03-05' as day`;
  await admin.unsafe(writeChange('restored'));
  const file = join(makeFolder('rollcall-dumped-'), 'dump');
  await findPrograms(from, 15).dump(file, {});
  await findPrograms(to, 15).restore(file, new AbortController().signal);
  const read = (sql: typeof source) =>
    sql`select numbers[2] is null as none, day::date - date '2026-01-01' as days from listed`;
  assert.equal([...(await read(target))], [...(await read(source))]);
  await Promise.all([source.end(), target.end()]);
});

test.run();

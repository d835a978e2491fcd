/**
 * Migrations: applied once, atomically, also concurrently; an error when history and files disagree. Released
 * files keep their text.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { migrate, SchemaError } from '../../../storage/sql/migrate.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('migrate');
const folder = makeFolder('rollcall-migrate-');
const files = makeFolder('rollcall-migrations-');
/**
 * SHA-256 of every migration. Databases have applied these files, and their programs refuse to start when one
 * differs. A change of the schema is a new file and a new line here, never another checksum in an old line.
 */
const released: Readonly<Record<string, string>> = {
  '001.do.schema.sql': '8173e60ab7012a70df5f8804e77921d4bb4a912985eeffbe5958a06ec20188b2',
};

const write = (name: string, text: string): void => writeFileSync(join(files, name), text);
const messageOf = async (task: Promise<unknown>): Promise<string> => {
  try {
    await task;
    return 'resolved';
  } catch (error) {
    return error instanceof SchemaError ? error.message : `another error: ${error}`;
  }
};

const embedded = await openEmbeddedSql({ directory: join(folder, 'sql') });
test.after(() => embedded.close());

test('the project’s own schema applies once, also when many processes migrate at once', async () => {
  const counts = await Promise.all([migrate(embedded.sql), migrate(embedded.sql), migrate(embedded.sql)]);
  assert.is(Math.max(...counts), Object.keys(released).length);
  const [row] = await embedded.sql`select count(*) as count from schema_versions where version > 0`;
  assert.is(row?.count, Math.max(...counts));
  assert.is(await migrate(embedded.sql), 0);
});

test('a failing file leaves nothing of itself or of the files before it', async () => {
  await embedded.sql`drop table schema_versions`;
  write('001.do.one.sql', 'create table one (number int);');
  write('002.do.two.sql', 'create table two (number int); create table two (number int);');
  assert.match(await messageOf(migrate(embedded.sql, files)), 'another error: StorageError: migrate');

  const [row] = await embedded.sql`
    select to_regclass('one') is null and to_regclass('schema_versions') is null as clean`;
  assert.is(row?.clean, true);
  write('002.do.two.sql', 'create table two (number int);');
  assert.is(await migrate(embedded.sql, files), 2);
});

test('a changed file stops the start with a clear message', async () => {
  write('002.do.two.sql', 'create table two (number bigint);');
  assert.match(await messageOf(migrate(embedded.sql, files)), '002.do.two.sql was changed after');

  write('002.do.two.sql', 'create table two (number int);\r\n'.replace('\r\n', ''));
  assert.is(await migrate(embedded.sql, files), 0);
});

test('a program starts on a schema that a newer one extended', async () => {
  write('003.do.three.sql', 'create table three (number int);');
  assert.is(await migrate(embedded.sql, files), 1);
  rmSync(join(files, '003.do.three.sql'));
  assert.is(await migrate(embedded.sql, files), 0);
});

test('what a newer program removed stops the start with a clear message', async () => {
  write('003.do.three.sql', 'create table three (number int);');
  write('004.do.contract-two.sql', 'drop table two;');
  assert.is(await migrate(embedded.sql, files), 1);
  rmSync(join(files, '003.do.three.sql'));
  rmSync(join(files, '004.do.contract-two.sql'));
  const words = await messageOf(migrate(embedded.sql, files));
  assert.match(words, 'schema version 4, this program knows 2');
  assert.match(words, 'contract-two');
});

test('no migration has changed since its release, and none is missing', () => {
  const own = join(import.meta.dirname, '../../../storage/sql/migrations');
  const checksums = readdirSync(own).map((name): [string, string] => [
    name,
    createHash('sha256')
      .update(readFileSync(join(own, name)))
      .digest('hex'),
  ]);

  assert.equal(Object.fromEntries(checksums), released);
});

test.run();

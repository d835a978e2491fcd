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
  '001.do.first-schema.sql': '251f5accabed576d33e89aca8794a66ade65c3161d8bec0cd71b3dd822af217a',
  '002.do.vote-rows.sql': 'b2bb878d71ce3eef7a9cdaac1b3beb7551afaa193bffb06cb557368a54e740c7',
  '003.do.credits-and-shop.sql': '700f38c51f4989da62b691eb2fde91daed7e87fe003a2e3085002a6824df8d44',
  '004.do.login.sql': '66dc4a628ef6f25c7fb19f0c3e4d631d7db55c6c06541116196ffec28b11ad9f',
  '005.do.applications-and-blog.sql': '3cd7a3816d4f1bd057264fafb61d5b6a6672739a806eb504bb2f604e1abfc720',
  '006.do.reminders-and-push.sql': '4987edacf9b68f7ad9f701c9d7c7b4d3ebe5e1b3a9471faa8a7af8c7de8e5962',
  '007.do.operators-side.sql': '017965da3d33c9fb3acb01f6e8867a3c0e1d59acfe2f509dc345b83edc6d760c',
  '008.do.voter-orders.sql': '8bf94fba863cc666b250079c4acc1c1bf2c054217da01363fc1a2c96479c6ad1',
  '009.do.shipped-positions.sql': 'f3b908485d2f70a779c131810a947cdab5fdb1c3558cbb291f8d168d0c092eba',
  '010.do.places-and-edits.sql': 'e96c9247df91f4a48c80db4a48840b3e06145dd8d8b17825f47b6ccb03e915d8',
  '011.do.counted-dead-letters.sql': '02908981768b54910f3ca54d1daa948486f97cbadf33fd32b723112be567a5b8',
  '012.do.lineage.sql': 'f7684f8672ad3882243ae8c9fc3b9ea9454743b17438db5c8399efbb1c41fbd7',
  '015.do.vote-log.sql': 'c5f05f5885a4994b00255c313f6517079d6a21663b09848e7a67e46dfd6bebb8',
  '016.do.named-operators.sql': '29e833aedbab75324b33db8a229298cd7b36c856c8bcdf360f6b251cf0cc571a',
  '017.do.search-indexes.sql': 'cfee3d2c1e0cd6552570836ed984031d1942172ef1799bc4adfffae2adfd772a',
  '018.do.webhooks.sql': 'b06e14beef64fad17cd9db9c2faac8e8887e95a025727e61b404711e9c03b647',
  '019.do.voided-votes.sql': 'f06bcfe5c8cef0d0cad27654ae70a284c30dccc28840404c2677bffcc85127f8',
  '021.do.history.sql': '8c0bf95ac0c6e09545cad0046952d10e6530b5a748049c484e17b52ba585b651',
  '022.do.boards.sql': '26ddd72443e9d3588084ec12e937b015dc8d90364aa56bfcecd1898d8721212c',
  '024.do.number-of-shards.sql': 'b30023afdea9f9199e3eb878daadebd4e05a8c1a70d5fdcaa0d70005edc31265',
  '025.do.log-origin.sql': 'bab0725c98433cebdf77a65c925b55163a06856e751f101fb4a44d090c5ef9c9',
  '026.do.webhook-leases-and-formats.sql': '1e7258fd683087d011913a27c258900bea9cf163320ac814c3fc15cf65b2a445',
  '027.do.notices.sql': '9f4e85f947247b94849efa27ce3b6e963c611c43ac13672954007ef8263f5496',
  '028.do.webhook-scopes-and-events.sql': 'dbea0ed3fbdebc4756df1627d781fa9173cbd903b2de4ee426fe48839c42e133',
  '029.do.votes-by-time.sql': 'd52464ee41c9ee2bf21756ace1914748a7033c2d877d75511308150351d40418',
  '030.do.idempotency-keys.sql': '025c51d87836b0f2049207ef69081e28fa7497cc6f7d18c8cc842b356f4e0a77',
  '031.do.review-messages.sql': '66bf5f0e55881e2ff3ac8779b94261a3715c715622af304d79f9187d8ac04f11',
  '032.do.hot-store.sql': '59c5f707a09f10d8b0058145d26e9c7376802b2c85ef576f02c9b23d4bc9c471',
  '033.do.search.sql': 'b3389edd6095bc7e4d9bd1489a3895317ae8f047aa8ccbda4ae2bce894e7408a',
  '035.do.void-plans.sql': '89d142fa44f1168d6f47ce05273f43991e96289e5f3ed967703d3c33d69413e4',
  '036.do.vote-origins.sql': 'e7a5983b81d984fe5ce0d3051b74145bc1e607b7c35d300a9cc82c2ade33cb84',
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
  assert.ok(Math.max(...counts) >= 2);
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

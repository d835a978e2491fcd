/**
 * The prepared database: copies of it are databases of their own, and one that is damaged, half made or of
 * another version is not used.
 *
 * Own process: databases that end leave their sockets open.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EmbeddedSql, openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { createProgram, unpackPrepared } from '../../../storage/embedded/prepared.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('prepared database');
const root = makeFolder('rollcall-prepared-');
const prepared = join(root, 'prepared');
// What an interrupted installation left.
mkdirSync(`${prepared}.new`);
writeFileSync(join(`${prepared}.new`, 'database.pack'), 'half');
const { status, stderr } = spawnSync(
  process.execPath,
  [...process.execArgv, createProgram, join(root, 'made'), prepared],
  { encoding: 'utf8' },
);
assert.is(status, 0, stderr);

const open = (name: string, preparedFolder: string): Promise<EmbeddedSql> =>
  openEmbeddedSql({ directory: join(root, name), preparedFolder });
/** Copies have the one of the prepared database. */
const readSystem = async ({ sql }: EmbeddedSql): Promise<string> => {
  const [row] = await sql<{ system: string }[]>`
    select system_identifier::text as system from pg_control_system()`;
  return row?.system ?? '';
};
const readOrigin = async ({ sql }: EmbeddedSql): Promise<unknown> =>
  (await sql`select origin from lineage`)[0]?.origin;

/** A copy of the prepared database that `change` has spoilt. */
const spoil = (name: string, change: (folder: string) => void): string => {
  const folder = join(root, name);
  cpSync(prepared, folder, { recursive: true });
  change(folder);
  return folder;
};
const flipByte = (folder: string): void => {
  const file = join(folder, 'database.pack');
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(5_000_000) ^ 1, 5_000_000);
  writeFileSync(file, bytes);
};
let system = '';

test('an installation leaves nothing else, and another user may read it', () => {
  assert.equal(readdirSync(root), ['prepared']);
  for (const file of readdirSync(prepared))
    assert.is(statSync(join(prepared, file)).mode & 0o044, 0o044, file);
});

test('first starts copy it, and each gets a directory of its own', async () => {
  const [one, other] = [await open('one', prepared), await open('other', prepared)];
  for (const { sql } of [one, other]) await migrate(sql);
  system = await readSystem(one);
  assert.is(await readSystem(other), system);
  assert.is.not(await readOrigin(one), await readOrigin(other), 'cursors of the vote log tell them apart');

  await one.sql`insert into settings (name, value) values ('only', 'here')`;
  assert.is((await other.sql`select from settings where name = 'only'`).length, 0);
  await Promise.all([one.close(), other.close()]);
  const again = await open('one', prepared);
  assert.is((await again.sql`select from settings where name = 'only'`).length, 1);
  await again.close();
});

test('none, a half one, a damaged one and one of another version are not used', async () => {
  const manifest = (folder: string): string => join(folder, 'manifest.json');
  const spoilt = [
    join(root, 'none'),
    spoil('half', (folder) => truncateSync(join(folder, 'database.pack'), 9_000_000)),
    spoil('torn', (folder) => truncateSync(manifest(folder), 1_000)),
    spoil('other-version', (folder) =>
      writeFileSync(manifest(folder), readFileSync(manifest(folder), 'utf8').replace(/"key":"./, '"key":"x')),
    ),
    spoil('damaged', flipByte),
  ];
  for (const folder of spoilt) assert.is(await unpackPrepared(`${folder}-copy`, folder), false, folder);
});

test('a first start that cannot use it creates a database', async () => {
  const made = await open('created', join(root, 'damaged'));
  assert.is.not(await readSystem(made), system);
  await made.close();
});

test.run();

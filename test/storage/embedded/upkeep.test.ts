/**
 * The embedded database's upkeep: dead and new rows are reasons to vacuum a table, changes to analyse it, and
 * files are closed that were not used for long.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runUpkeep } from '../../../storage/embedded/open.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('upkeep of the embedded database');
const directory = join(makeFolder('rollcall-upkeep-'), 'sql');
const { sql, close } = await openEmbeddedSql({ directory });
test.after(() => close());

const count = async (): Promise<{ vacuums: number; analyses: number }> => {
  const [row] = await sql<{ vacuums: number; analyses: number }[]>`
    select vacuum_count::int as vacuums, analyze_count::int as analyses
    from pg_stat_user_tables where relname = 'kept'`;
  if (row === undefined) throw new Error('no table');
  return row;
};
/** Changes rows so that Postgres removes the dead ones by itself: few of a page at a time. */
const update = async (times: number): Promise<void> => {
  for (let time = 0; time < times; time++)
    await sql`update kept set value = value + 1 where number % 20 = ${time % 20}`;
  await sql`select pg_stat_force_next_flush()`;
};

test('new rows are vacuumed once, changes are analysed, dead rows are vacuumed', async () => {
  await sql`create table kept (number int primary key, value int) with (fillfactor = 70)`;
  await sql`insert into kept select number, 0 from generate_series(1, 20000) as number`;
  await sql`select pg_stat_force_next_flush()`;
  await runUpkeep(sql);
  await runUpkeep(sql);
  assert.equal(await count(), { vacuums: 1, analyses: 1 });

  await update(15);
  await runUpkeep(sql);
  assert.equal(await count(), { vacuums: 1, analyses: 2 });

  await sql`delete from kept where number % 4 > 0`;
  await sql`select pg_stat_force_next_flush()`;
  await runUpkeep(sql);
  assert.equal(await count(), { vacuums: 2, analyses: 3 });
});

const countFiles = (): number =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(directory);
    } catch {
      return false; // That of the list itself.
    }
  }).length;

test('no more files stay open than a node may have, however many tables were read', async () => {
  const names = Array.from({ length: 200 }, (_, number) => `many${number}`);
  for (const name of names) await sql.unsafe(`create table ${name} (number int primary key)`);
  for (const name of names) await sql.unsafe(`select from ${name}`);

  const files = countFiles();
  assert.ok(files > 200 && files < 300, `${files} files`);
});

test.run();

/**
 * The embedded database's upkeep: dead and new rows are reasons to vacuum a table, changes to analyse it.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runUpkeep } from '../../../storage/embedded/open.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('upkeep of the embedded database');
const { sql, close } = await openEmbeddedSql({ directory: join(makeFolder('rollcall-upkeep-'), 'sql') });
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

test.run();

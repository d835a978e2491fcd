/**
 * Reads a whole database to detect damage: page checksums reveal changed pages, and an index reveals rows
 * that a truncated file has lost.
 */
import type { Sql } from '../sql/client.ts';

interface Table {
  readonly name: string;
  /** Columns of the primary key, quoted for SQL; `''` for none. */
  readonly key: string;
}

const listTables = (sql: Sql) => sql<Table[]>`
  select pg_class.oid::regclass::text as name, coalesce((
    select string_agg(quote_ident(attname), ', ' order by array_position(indkey::int[], attnum::int))
    from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
    where indrelid = pg_class.oid and indisprimary), '') as key
  from pg_class where relkind = 'r' and relpersistence = 'p'`;

/** Reads every row of every table twice: in table order and by primary key. Rejects at the first damage. */
export const readAll = async (sql: Sql): Promise<void> => {
  for (const { name, key } of await listTables(sql)) {
    await sql.unsafe(`select count(*) from ${name}`);
    if (key === '') continue;
    await sql.begin(async (transaction) => {
      await transaction`set local enable_seqscan = off`;
      await transaction`set local enable_bitmapscan = off`;
      await transaction`set local enable_indexonlyscan = off`;
      await transaction.unsafe(`select count(*) from (select * from ${name} order by ${key}) as all_rows`);
    });
  }
};

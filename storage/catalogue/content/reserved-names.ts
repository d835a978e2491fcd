/**
 * Names that the operator reserves, so that they cannot become vanity codes, besides those that the product
 * reserves (engine/rules/vanity.ts). A code that is already in use stays.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { hasRow, readColumn } from '../../sql/rows.ts';

const namesMax = 10_000;

const listAll = (sql: Queryable) =>
  readColumn<string>(sql`select word from reserved_words order by word limit ${namesMax}`);

/** Reserves a name; ledger when it resolves. `there`: it was reserved; `full`: there are 10,000 names. */
const add = async (sql: Queryable, name: string): Promise<'added' | 'there' | 'full'> => {
  const isAdded = await hasRow(sql`
    insert into reserved_words (word) select ${name}
    where (select count(*) from reserved_words) < ${namesMax}
    on conflict do nothing returning word`);
  if (isAdded) return 'added';
  return (await hasRow(sql`select from reserved_words where word = ${name}`)) ? 'there' : 'full';
};

/** Releases a name; ledger when it resolves. Resolves to whether it was reserved. */
const remove = (sql: Queryable, name: string) =>
  hasRow(sql`delete from reserved_words where word = ${name} returning word`);

export const createReservedNames = (sql: Sql) => bindStorage('reservedNames', sql, { listAll, add, remove });

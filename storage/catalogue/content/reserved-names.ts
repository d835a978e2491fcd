/**
 * Names that the operator reserves, so that they cannot become vanity codes, besides those that the product
 * reserves (engine/rules/vanity.ts). A code that is already in use stays.
 */
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { hasRow, readColumn } from '../../sql/rows.ts';

const namesMax = 10_000;

export const createReservedNames = (sql: Sql) => ({
  listAll: () =>
    asStorage('words.all', () =>
      readColumn<string>(sql`
        select word from reserved_words order by word limit ${namesMax}`),
    ),
  /** Reserves a name; ledger when it resolves. `there`: it was reserved; `full`: there are 10,000 names. */
  add: (name: string) =>
    asStorage('words.add', async () => {
      const rows = await sql`
        insert into reserved_words (word) select ${name}
        where (select count(*) from reserved_words) < ${namesMax}
        on conflict do nothing returning word`;
      if (rows.length === 1) return 'added';
      const existing = await sql`select from reserved_words where word = ${name}`;
      return existing.length === 1 ? 'there' : 'full';
    }),
  /** Releases a name; ledger when it resolves. Resolves to whether it was reserved. */
  remove: (name: string) =>
    asStorage('words.remove', () =>
      hasRow(sql`delete from reserved_words where word = ${name} returning word`),
    ),
});

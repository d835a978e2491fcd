/**
 * Words that the operator keeps from being vanity codes, beside those that the product reserves itself
 * (engine/rules/vanity.ts). A code that is in use already stays. Called by operator-side.ts.
 */
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';

export interface ReservedNames {
  listAll(): Promise<readonly string[]>;
  /** Resolves to whether it is new; `full` beside 10,000 others. Ledger. */
  add(word: string): Promise<'added' | 'there' | 'full'>;
  /** Resolves to whether it was there. Ledger. */
  remove(word: string): Promise<boolean>;
}

const wordsMax = 10_000;

export const createReservedNames = (sql: Sql): ReservedNames => ({
  listAll: () =>
    asStorage('words.all', async () => {
      const rows = await sql<{ word: string }[]>`
        select word from reserved_words order by word limit ${wordsMax}`;
      return rows.map(({ word }) => word);
    }),
  add: (word) =>
    asStorage('words.add', async () => {
      const rows = await sql`
        insert into reserved_words (word) select ${word}
        where (select count(*) from reserved_words) < ${wordsMax}
        on conflict do nothing returning word`;
      if (rows.length === 1) return 'added';
      const there = await sql`select from reserved_words where word = ${word}`;
      return there.length === 1 ? 'there' : 'full';
    }),
  remove: (word) =>
    asStorage('words.remove', async () => {
      const rows = await sql`delete from reserved_words where word = ${word} returning word`;
      return rows.length === 1;
    }),
});

/**
 * Words that the operator keeps from being vanity codes, beside those that the product reserves itself
 * (engine/rules/vanity.ts). A code that is in use already stays. Called by operator-side.ts.
 */
import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';

export interface ReservedWords {
  all(): Promise<readonly string[]>;
  /** Resolves to whether it is new. Ledger. */
  add(word: string): Promise<boolean>;
  /** Resolves to whether it was there. Ledger. */
  remove(word: string): Promise<boolean>;
}

const wordsShownMax = 10_000;

export const createReservedWords = (sql: Sql): ReservedWords => ({
  all: () =>
    asStorage('words.all', async () => {
      const rows = await sql<{ word: string }[]>`
        select word from reserved_words order by word limit ${wordsShownMax}`;
      return rows.map(({ word }) => word);
    }),
  add: (word) =>
    asStorage('words.add', async () => {
      const rows = await sql`
        insert into reserved_words (word) values (${word}) on conflict do nothing returning word`;
      return rows.length === 1;
    }),
  remove: (word) =>
    asStorage('words.remove', async () => {
      const rows = await sql`delete from reserved_words where word = ${word} returning word`;
      return rows.length === 1;
    }),
});

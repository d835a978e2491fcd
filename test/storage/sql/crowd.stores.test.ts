/**
 * More concurrent work than a connection takes, on both kinds of stores: any mix of statements and
 * transactions completes.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { makeFolder } from '../../support/folder.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('a crowd of statements');
const folder = makeFolder('rollcall-crowd-');
const postgres = await startPostgres();
const server = await openServerSql(await postgres.database('crowd'));
const embedded = await openEmbeddedSql({ directory: join(folder, 'sql') });
const stores: readonly [string, Sql][] = [
  ['the embedded store', embedded.sql],
  ['a server', server.sql],
];

test.after(async () => {
  await embedded.close();
  await server.close();
  await postgres.close();
});

/** Longer than the text that a socket buffers before it applies back-pressure. */
const longText = 'x'.repeat(20_000);

/** Not awaited but chained, so that the statement is sent before what the caller starts next. */
const read = (sql: Sql, number: number): Promise<number> =>
  sql<{ number: number }[]>`select ${number}::int as number`.then(([row]) => row?.number ?? -1);
const readLong = (sql: Sql, number: number): Promise<number> =>
  sql<{ number: number }[]>`select length(${longText}) * 0 + ${number}::int as number`.then(
    ([row]) => row?.number ?? -1,
  );
const transact = async (sql: Sql, number: number): Promise<number> =>
  sql.begin(async (transaction) => {
    const [row] = await transaction<{ number: number }[]>`select ${number}::int as number`;
    return row?.number ?? -1;
  }) as Promise<number>;

for (const [name, sql] of stores) {
  for (const ahead of [99, 100, 101, 900]) {
    test(`${name}: a transaction behind ${ahead} statements begins`, async () => {
      const numbers = Array.from({ length: ahead }, (_, number) => number);
      const results = await Promise.all([
        ...numbers.map((number) => read(sql, number)),
        transact(sql, ahead),
        transact(sql, ahead + 1),
      ]);

      assert.equal(results, [...numbers, ahead, ahead + 1]);
    });
  }

  test(`${name}: 900 statements and transactions in a mix are all done`, async () => {
    const kinds = [read, readLong, transact];
    const numbers = Array.from({ length: 900 }, (_, number) => number);
    const results = await Promise.all(
      numbers.map((number) =>
        (kinds[(number * 7 + (number >> 4)) % kinds.length] as typeof read)(sql, number),
      ),
    );

    assert.equal(results, numbers);
  });
}

test.run();

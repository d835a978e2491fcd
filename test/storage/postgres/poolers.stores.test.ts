/**
 * pgbouncer in front of Postgres: in transaction mode it is refused at start, in session mode each statement
 * gets its own rows. (A pooler that is worse is in early-pooler.stores.test.ts.)
 *
 * `STATEMENTS=1000000 npm test -- poolers` runs the long form of the last test. Time limit: 900 s.
 */
import * as assert from 'uvu/assert';
import { findPgbouncer, startPgbouncer } from '../../../bench/shared/pgbouncer.ts';
import { connectSql } from '../../../storage/sql/client.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { createSuiteNeeding } from '../../support/needing-suite.ts';
import { assertNote } from '../../support/notes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { namesRemedy, refuse } from './refused-start.ts';

const statements = Number(process.env.STATEMENTS ?? 20_000);
const settings = 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout,jit';
const ignored = `ignore_startup_parameters = ${settings}`;

const server = await startPostgres();
await server.database('pooled');

/** Runs `work` while so many clients of the pooler send statements one after another. */
const withCompany = async (url: string, clients: number, work: () => Promise<void>): Promise<void> => {
  const sql = connectSql(url, { connectionsMax: clients });
  let isOver = false;
  const company = Array.from({ length: clients }, async () => {
    while (!isOver) await sql`select 1`.simple();
  });
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.allSettled(company);
    await sql.end({ timeout: 0 });
  }
};

const test = createSuiteNeeding('pgbouncer', findPgbouncer);

const withPgbouncer = async (
  lines: readonly string[],
  use: (url: string) => Promise<void>,
): Promise<void> => {
  const pooler = await startPgbouncer(server.port, lines);
  try {
    await use(pooler.address('pooled'));
  } finally {
    await pooler.close();
  }
};

for (const lines of [
  ['pool_mode = transaction'],
  ['pool_mode = transaction', ignored],
  ['pool_mode = transaction', ignored, 'default_pool_size = 1'],
  ['pool_mode = transaction', ignored, 'server_round_robin = 1'],
]) {
  test(`${lines.join(', ')} is refused when nothing else is connected`, () =>
    withPgbouncer(lines, async (url) => {
      assert.match(await refuse(url), namesRemedy);
    }));
}

for (const turn of [0, 1])
  for (const clients of [1, 2, 8]) {
    const line = `server_round_robin = ${turn}`;
    test(`transaction mode is refused while others use it: ${clients}, ${line}`, () =>
      withPgbouncer(['pool_mode = transaction', ignored, 'default_pool_size = 20', line], (url) =>
        withCompany(url, clients, async () => {
          for (let time = 0; time < 30; time++) assert.match(await refuse(url), namesRemedy);
        }),
      ));
  }

test('a pooler that refuses our settings is named with the remedy', () =>
  withPgbouncer(['pool_mode = session'], async (url) => {
    assert.match(await refuse(url), /pooler.*"Managed Postgres".*unsupported startup parameter/);
  }));

test('in session mode each statement gets its own rows', () =>
  withPgbouncer(['pool_mode = session', ignored], async (url) => {
    const { sql, notes, close } = await openServerSql(url);
    // Not where the server's roles have the settings already, for a run of all tests through a pooler.
    if (process.env.POOLER === undefined) assertNote('sql_pooler', notes);
    let wrong = 0;
    let next = 0;
    const ask = async (): Promise<void> => {
      while (next < statements) {
        const number = next++;
        const rows = await sql`
          select ${number}::int as number, repeat('x', ${number % 100}::int) as text
          from generate_series(0, ${number % 3}::int)`;
        const isRight = rows.length === (number % 3) + 1 && rows.every((row) => row.number === number);
        if (!isRight || rows[0]?.text.length !== number % 100) wrong++;
      }
    };
    await Promise.all(Array.from({ length: 200 }, ask));
    await close();
    assert.is(`${wrong} of ${next} with wrong rows`, `0 of ${statements} with wrong rows`);
  }));

test.after(() => server.close());

test.run();

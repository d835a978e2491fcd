/**
 * pgbouncer in front of Postgres: in transaction mode it is refused at start, in session mode each statement
 * gets its own rows. (A pooler that is worse is in early-pooler.stores.test.ts.)
 *
 * `STATEMENTS=1000000 npm test -- poolers` runs the long form of the last test. Time limit: 900 s.
 */
import * as assert from 'uvu/assert';
import { otherSettings } from '../../../bench/shared/other-settings.ts';
import { findPgbouncer, type Pgbouncer, startPgbouncer } from '../../../bench/shared/pgbouncer.ts';
import { connectSql, createDriver } from '../../../storage/sql/client.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { pinnedSettings } from '../../../storage/sql/settings.ts';
import { createSuiteNeeding } from '../../support/needing-suite.ts';
import { assertNote } from '../../support/notes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';
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
  use: (url: string, pooler: Pgbouncer) => Promise<void>,
): Promise<void> => {
  const pooler = await startPgbouncer(server.port, lines);
  try {
    await use(pooler.address('pooled'), pooler);
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

for (const mode of ['statement', 'transaction'])
  for (const clients of [0, 8])
    test(`${mode} mode is refused by its name, with ${clients} others`, () =>
      withPgbouncer([`pool_mode = ${mode}`], (url) =>
        withCompany(url, clients, async () => {
          for (let time = 0; time < 10; time++) assert.match(await refuse(url), namesRemedy);
        }),
      ));

/** What our connections have, of a role that has other values. */
const readSettings = async (url: string): Promise<unknown> => {
  const { sql, close } = await openServerSql(url);
  const names = Object.keys(pinnedSettings);
  const rows = await Promise.all(
    Array.from(
      { length: 30 },
      () => sql`
      select string_agg(name || '=' || setting, ' ' order by name) as all, current_date::text as day
      from pg_settings, pg_sleep(0.01) where name = any(${names})`,
    ),
  );
  await close();
  return [...new Set(rows.map(([row]) => JSON.stringify(row)))];
};

test('settings are the same directly and through poolers that pass, drop or refuse parameters', async () => {
  const direct = `postgres://rollcall@127.0.0.1:${server.port}/pooled`;
  const right = await readSettings(direct);
  const admin = createDriver(direct, { max: 1 });
  for (const [name, value] of Object.entries(otherSettings).filter(([one]) => one !== 'transaction_timeout'))
    await admin.unsafe(`alter database pooled set ${name} = '${value}'`);
  assert.equal(await readSettings(direct), right);
  for (const line of ['', ignored, 'server_reset_query_always = 1', 'server_reset_query ='])
    await withPgbouncer(['pool_mode = session', line], async (url) => {
      for (let time = 0; time < 3; time++) assert.equal(await readSettings(url), right, line);
    });
  await admin`alter database pooled reset all`;
  await admin.end();
});

test('a pooler that changes its mode while a node runs gets no work, until it is back', () =>
  withPgbouncer(['pool_mode = session'], async (url, pooler) => {
    const node = await openServerSql(url);
    const ask = () => node.sql`select 1`.then(() => 'an answer', String);
    assert.is(await ask(), 'an answer');
    for (const mode of ['transaction', 'statement']) {
      pooler.reload([`pool_mode = ${mode}`]);
      await until('it is found', () => node.getLastError() !== null);
      assert.match(await ask(), /StorageError.*pool_mode=session/);
      assertNote('sql_pooler', node.listNotes());
      pooler.reload(['pool_mode = session']);
      await until('it is back', async () => (await ask()) === 'an answer');
    }
    await node.close();
  }));

test('in session mode each statement gets its own rows', () =>
  withPgbouncer(['pool_mode = session', ignored], async (url) => {
    const { sql, close } = await openServerSql(url);
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

/**
 * The lock of the one process that uses a Postgres server without Redis.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { takeSessionLock } from '../../../storage/sql/session-lock.ts';
import { startPostgres } from '../../support/postgres-server.ts';

import { until } from '../../support/until.ts';

const test = suite('session lock');
const server = await startPostgres();
const address = await server.database('locked');
const sql = connectSql(address);
test.after(async () => {
  await sql.end();
  await server.close();
});

const readRefusal = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no failure',
    (error: Error) => error.message,
  );
const options = { isHolder: async () => true, onLost: () => {} };
const countSessions = async (): Promise<number> => {
  const sessions = await sql`select from pg_stat_activity where application_name = 'rollcall lock'`;
  return sessions.length;
};

test('only one process has the lock, and a connection that does not get it is closed', async () => {
  const first = await takeSessionLock(address, options);

  assert.match(await readRefusal(takeSessionLock(address, options)), /only one may/);
  await until('the second connection is closed', async () => (await countSessions()) === 1);
  await first.release();
  await (await takeSessionLock(address, options)).release();
});

test('when the lock cannot be asked for, the connection is closed', async () => {
  await sql`create role guest login`;
  await sql`revoke execute on function pg_try_advisory_lock(bigint), pg_try_advisory_lock(integer, integer)
    from public`;

  const refused = takeSessionLock(address.replace('//rollcall@', '//guest@'), options);

  assert.match(await readRefusal(refused), /permission denied/);
  await until('the connection is closed', async () => (await countSessions()) === 0);
});

test('when Postgres has no connection left, the error says what to do', async () => {
  await sql`create role late login connection limit 0`;

  const refused = takeSessionLock(address.replace('//rollcall@', '//late@'), options);

  assert.match(await readRefusal(refused), /^DATABASE_URL: .* no connection left\. Close some, or raise/);
});

test.run();

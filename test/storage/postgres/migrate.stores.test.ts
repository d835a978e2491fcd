/**
 * Migrations on a real server: several processes at once, one migrates under the advisory lock, and the
 * others wait as long as it takes.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { locks } from '../../../storage/sql/locks.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { watchChild } from '../../support/child.ts';
import { pluck } from '../../support/pluck.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('migrate on postgres');
const server = await startPostgres();
test.after(() => server.close());

const program = fileURLToPath(new URL('./migrate-child.ts', import.meta.url));

const runChild = (address: string) =>
  watchChild(spawn(process.execPath, [...process.execArgv, program, address])).ended;

test('three processes that start at once migrate once, and all of them succeed', async () => {
  const address = await server.database('three');
  const results = await Promise.all([runChild(address), runChild(address), runChild(address)]);

  assert.equal(pluck(results, 'code'), [0, 0, 0], results.map(({ output }) => output).join('\n'));
  const sql = connectSql(address);
  const applied = await sql<{ times: number }[]>`
    select count(*) as times from schema_versions where version > 0 group by version`;
  assert.ok(applied.length >= 1 && applied.every(({ times }) => times === 1));
  assert.is(await migrate(sql), 0);
  await sql.end();
});

test('a process waits for a migration longer than any lock timeout', async () => {
  const address = await server.database('waiting');
  const [slow, quick] = [
    connectSql(address),
    connectSql(address, { lockTimeoutMs: 500, statementTimeoutMs: 500 }),
  ];
  let waiting: Promise<number> = Promise.resolve(0);
  await slow.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${locks.migrations})`;
    waiting = migrate(quick);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
  });
  assert.ok((await waiting) >= 1);
  await Promise.all([slow.end(), quick.end()]);
});

test('when its role may not create tables, the error says to make it the owner', async () => {
  const address = await server.database('foreign');
  const owner = connectSql(address);
  await owner`create role guest login`;
  const guest = connectSql(address.replace('//rollcall@', '//guest@'));

  const refusal = await migrate(guest).catch((error: Error) => error.message);
  assert.match(String(refusal), /^DATABASE_URL: .*permission denied for schema public.*owner to/);

  await Promise.all([owner.end(), guest.end()]);
});

test.run();

/**
 * A real Postgres with a table whose file lost its content: the failure is definite, and has a note.
 */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { asStorage } from '../../../storage/sql/errors.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('a damaged Postgres');
const server = await startPostgres();
test.after(() => server.close());

test('damage is a definite failure, and has a note', async () => {
  const url = await server.database('damaged');
  const { sql, getLastError, close } = await openServerSql(url);
  await sql`create table numbers (number bigint primary key)`;
  await sql`insert into numbers values (1)`;
  const [file] = await sql<{ path: string }[]>`select pg_relation_filepath('numbers') as path`;
  await close();
  await server.stop('fast');
  truncateSync(join(server.folder, 'data', file?.path ?? ''), 0);
  await server.start();
  const again = await openServerSql(url);
  assertNoNote('sql_damaged', [again.getLastError() ?? []].flat());

  const failures: unknown[] = [];
  for (let count = 0; count < 3; count++) {
    await asStorage('read', () => again.sql`select * from numbers where number = 1`).catch((error: unknown) =>
      failures.push(error),
    );
  }
  const message = again.getLastError();
  const [other] = await again.sql`select 1 as one`;
  await again.close();

  assert.is(failures.length, 3);
  for (const failure of failures) {
    assert.instance(failure, StorageError);
    const { reason, outcome } = failure as StorageError;
    assert.equal({ reason, outcome }, { reason: 'damaged', outcome: 'not_applied' });
  }
  assertNote('sql_damaged', [message ?? '']);
  assert.match(message ?? '', /Postgres met damaged data \(XX001: .*reflush/);
  assert.is(getLastError(), null);
  assert.equal({ ...other }, { one: 1 });
});

test.run();

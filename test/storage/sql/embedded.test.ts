/**
 * The embedded Postgres: values in both directions, one shared connection, and clear errors after its end.
 *
 * Own process: the database that ends leaves its socket open.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { startSqlThread } from '../../../storage/embedded/sql-thread.ts';
import { asStorage } from '../../../storage/sql/errors.ts';
import { makeFolder } from '../../support/folder.ts';
import { pluck } from '../../support/pluck.ts';

const test = suite('embedded sql');
const folder = makeFolder('rollcall-embedded-');
/** PGlite puts its sockets below the temporary folder; a private one makes them easy to find. */
const temporary = makeFolder('rollcall-tmp-');
process.env.TMPDIR = temporary;

const failureOf = async (task: () => Promise<unknown>): Promise<StorageError> => {
  try {
    await task();
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
  throw new Error('it succeeded');
};

const embedded = await openEmbeddedSql({ directory: join(folder, 'sql') });
test.after(() => embedded.close());

test('a new folder is created atomically, and its top is readable only by its owner', () => {
  assert.equal(readdirSync(folder), ['sql']);
});

test('a thread that was started before opens the database; one that has ended says so at once', async () => {
  const directory = join(folder, 'sql-early');
  const early = await openEmbeddedSql({ directory, thread: startSqlThread() });
  const [row] = await early.sql`select 1 as one`;
  await early.close();
  assert.is(row?.one, 1);

  const thread = startSqlThread();
  await thread.worker.terminate();
  const error = await failureOf(() => openEmbeddedSql({ directory, thread }));
  assert.match(error.message, 'the database thread ended');
  rmSync(directory, { recursive: true });
});

test('values are returned in the types that the client documents', async () => {
  const [row] = await embedded.sql`
    select 9007199254740991::bigint as safe, 9007199254740993::bigint as unsafe,
      array[1, 2]::bigint[] as list,
      18446744073709551557::numeric as digits, '2026-11-20 12:00:00.123456+00'::timestamptz as time,
      '{"a": [1]}'::jsonb as json, '\\x00ff'::bytea as bytes, array['a,"b'] as texts`;

  assert.is(row?.safe, 9007199254740991);
  assert.is(row?.unsafe, '9007199254740993');
  assert.equal(row?.list, [1, 2]);
  assert.is(row?.digits, '18446744073709551557');
  assert.equal(row?.time, new Date('2026-11-20T12:00:00.123Z'));
  assert.equal(row?.json, { a: [1] });
  assert.equal(row?.bytes, Buffer.from([0, 255]));
  assert.equal(row?.texts, ['a,"b']);
});

test('statements issued during a transaction wait for its end and see its result', async () => {
  await embedded.sql`create table lines (number bigint)`;
  const counts: number[] = [];
  const writing = embedded.sql.begin(async (transaction) => {
    for (let number = 0; number < 20; number++) await transaction`insert into lines values (${number})`;
  });
  const readings = Array.from({ length: 20 }, async () => {
    const [row] = await embedded.sql<{ count: number }[]>`select count(*) as count from lines`;
    counts.push(row?.count ?? -1);
  });
  await Promise.all([writing, ...readings]);

  assert.equal(counts, Array(20).fill(20));
});

test('a failing statement fails alone, a failing transaction leaves nothing', async () => {
  const { sql } = embedded;
  const outcomes = await Promise.allSettled([
    sql`select 1 / 0`,
    sql`select 1 as one`,
    sql.begin(async (transaction) => {
      await transaction`create table never (number int)`;
      await transaction`select nonsense`;
    }),
    sql`select to_regclass('never') is null as absent`,
  ]);

  assert.equal(pluck(outcomes, 'status'), ['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  const last = outcomes[3];
  assert.is(last?.status === 'fulfilled' && last.value[0]?.absent, true);
});

test('a transaction that has begun is not repeated, whatever its task got from elsewhere', async () => {
  let calls = 0;
  const ofAnotherServer = Object.assign(new Error('it shuts down'), { severity: 'FATAL', code: '57P01' });
  const failed = embedded.sql.begin(() => {
    calls += 1;
    throw ofAnotherServer;
  });

  assert.is(await failed.catch((error: unknown) => error), ofAnotherServer);
  assert.is(calls, 1);
});

test('a statement larger than a socket chunk arrives whole', async () => {
  const text = 'x'.repeat(3_000_000);
  const [row] = await embedded.sql`select length(${text}) as length, ${text} as text`;

  assert.is(row?.length, text.length);
  assert.is(row?.text, text);
});

test('a folder that holds no database is refused and left as it is', async () => {
  const directory = join(folder, 'other');
  mkdirSync(directory);
  writeFileSync(join(directory, 'note.txt'), 'mine');

  const failure = await failureOf(() => openEmbeddedSql({ directory }));
  assert.is(failure.reason, 'unreachable');
  assert.match(failure.message, 'holds no database');
  assert.equal(readdirSync(directory), ['note.txt']);
  rmSync(directory, { recursive: true });
});

test('a database whose postmaster.pid lost its content in a power cut opens', async () => {
  const directory = join(folder, 'cut');
  await openEmbeddedSql({ directory }).then(({ close }) => close());
  writeFileSync(join(directory, 'postmaster.pid'), '');

  const { sql, close } = await openEmbeddedSql({ directory });
  assert.is((await sql`select 1 as one`)[0]?.one, 1);
  await close();
});

test('after the end of the database every statement is rejected, and the owner is notified', async () => {
  await embedded.close();
  let report: (error: StorageError) => void = () => {};
  const crash = new Promise<StorageError>((resolve) => {
    report = resolve;
  });
  const again = await openEmbeddedSql({ directory: join(folder, 'sql'), onCrash: (error) => report(error) });
  assert.is((await again.sql`select count(*) as count from lines`)[0]?.count, 20);

  // A malformed first message ends a backend, and this is the only one.
  const [place] = readdirSync(temporary).filter((name) => name.startsWith('rollcall-sql-'));
  const socket = connect(join(temporary, place ?? '', 's'));
  socket.on('error', () => socket.destroy());
  socket.write(Buffer.concat([Buffer.from([0, 0, 0, 20, 0, 3, 0, 0]), Buffer.from('user\0nobody\0')]));
  assert.is((await crash).reason, 'unreachable');

  assert.is(
    (await failureOf(() => asStorage('select', async () => again.sql`select 1`))).reason,
    'unreachable',
  );
  assert.is((await failureOf(() => again.packInto(join(folder, 'copy')))).reason, 'unreachable');
  await again.close();
  assert.equal(readdirSync(temporary), []);
});

test.run();

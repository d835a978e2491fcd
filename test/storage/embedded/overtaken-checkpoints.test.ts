/**
 * Under heavy writing checkpoints of the embedded database wait for long statements, and each begins before
 * the files of the one before are synced. They must count all the same, or the log is never removed.
 *
 * Own process: it replaces a function of `node:fs`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { syncFiles } from '../../../storage/embedded/background-syncs.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { createSyncedFiles } from '../../../storage/embedded/synced-files.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('overtaken checkpoints');
const directory = join(makeFolder('rollcall-overtaken-'), 'sql');

/** The syncs of files that wait, in order. */
const waiting: (() => Promise<void>)[] = [];
const { fdatasync } = fs;
const delaySyncs = (): void => {
  fs.fdatasync = ((descriptor: number, done: (error: Error | null) => void) =>
    waiting.push(
      () =>
        new Promise((resolve) =>
          fdatasync(descriptor, (error) => {
            done(error);
            setImmediate(resolve);
          }),
        ),
    )) as unknown as typeof fdatasync;
  syncBuiltinESMExports();
};
const finishSyncs = async (count: number): Promise<void> => {
  for (let done = 0; done < count && waiting.length > 0; done++) await waiting.shift()?.();
};
const readControl = (): string => fs.readFileSync(join(directory, 'global', 'pg_control'), 'base64');
const countSegments = (): number =>
  fs.readdirSync(join(directory, 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name)).length;

const tables = 40;
/** Fewer than the checkpoint has files: between two statements the database's thread could sync one. */
const statementsMax = 40;
/** Resolves with the number of the statement after which the checkpoint counted. */
const awaitUnderLongStatements = async (): Promise<number> => {
  const { sql, close } = await openEmbeddedSql({ directory });
  for (let table = 0; table < tables; table++)
    await sql.unsafe(`create table made_${table} as select ${table} as number`);
  await sql`checkpoint`;
  const before = readControl();
  let ended = 0;
  const runUntilCounted = async (): Promise<void> => {
    while (ended < statementsMax && readControl() === before) {
      await sql`select pg_sleep(0.3)`;
      ended += 1;
    }
  };
  // Two at a time, so that a statement always waits when another ends.
  await Promise.all([runUntilCounted(), runUntilCounted()]);
  await close();
  return ended;
};
const countedAfter = await awaitUnderLongStatements();

let due = 0;
const files = createSyncedFiles(directory, {
  syncFiles,
  onFailure: (error) => {
    throw error;
  },
  onDiskFull: () => {},
  onCheckpointDue: () => {
    due += 1;
  },
});
const startParams = PGlite.defaultStartParams.filter((parameter) => parameter !== '-F');
const database = await PGlite.create({
  fs: files.fileSystem,
  startParams: [...startParams, '-c', 'wal_sync_method=fsync'],
});
await files.awaitCheckpoint();
files.markOpened();
await database.exec('create table texts (body text)');
await database.exec('checkpoint');
await files.awaitCheckpoint();
delaySyncs();

test.after(async () => {
  fs.fdatasync = fdatasync;
  syncBuiltinESMExports();
  await finishSyncs(Number.POSITIVE_INFINITY);
  await database.close();
  await files.awaitCheckpoint();
});

test('files are synced while statements run', () => {
  assert.ok(countedAfter < statementsMax, `the checkpoint counted after ${countedAfter} statements`);
});

test('the log is removed although each checkpoint is overtaken', async () => {
  const counts: number[] = [];
  for (let round = 0; round < 30; round++) {
    await database.exec("insert into texts values ('short')");
    await database.exec('select pg_switch_wal()');
    await database.exec('checkpoint');
    // Fewer than the checkpoint added.
    await finishSyncs(2);
    counts.push(countSegments());
  }
  assert.ok(waiting.length > 0);
  assert.ok(Math.max(...counts) <= 15, `segments of the log: ${counts.join(' ')}`);
});

const writeMuch = (): Promise<unknown> =>
  database.exec('insert into texts select repeat(md5(n::text), 20) from generate_series(1, 40000) n');

test('none is due before the one before counts', async () => {
  await finishSyncs(Number.POSITIVE_INFINITY);
  await files.awaitCheckpoint();
  await writeMuch();
  const before = due;
  await database.exec('checkpoint');
  await writeMuch();
  assert.is(due, before);
  await finishSyncs(Number.POSITIVE_INFINITY);
  await files.awaitCheckpoint();
  await writeMuch();
  assert.ok(due > before);
});

test.run();

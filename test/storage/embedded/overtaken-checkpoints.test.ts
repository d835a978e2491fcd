/**
 * Under heavy writing each checkpoint of the embedded database begins before the files of the one before are
 * synced. Checkpoints must count all the same, or the log is never removed.
 *
 * Own process: it replaces a function of `node:fs`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
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
const countSegments = (): number =>
  fs.readdirSync(join(directory, 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name)).length;

await (await openEmbeddedSql({ directory })).close();
let due = 0;
const files = createSyncedFiles(directory, {
  onFailure: (error) => {
    throw error;
  },
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

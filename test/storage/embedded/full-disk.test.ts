/**
 * The log of the embedded database on a full disk: it waits for room.
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

const test = suite('log on a full disk');
const directory = join(makeFolder('rollcall-full-'), 'sql');
await (await openEmbeddedSql({ directory })).close();

const seen: string[] = [];
const files = createSyncedFiles(directory, {
  syncFiles,
  onFailure: (error) => {
    throw error;
  },
  onDiskFull: (full) => seen.push(full ? 'full' : 'room'),
  onCheckpointDue: () => {},
});
const database = await PGlite.create({ fs: files.fileSystem });
await files.awaitCheckpoint();
files.markOpened();
await database.exec('create table numbers (number bigint)');

const { writeSync } = fs;
test.after(() => database.close());

const log = join(directory, 'pg_wal');
const isLog = (descriptor: number): boolean => {
  const { ino } = fs.fstatSync(descriptor);
  return fs.readdirSync(log).some((name) => fs.statSync(join(log, name)).ino === ino);
};

/** The next `times` writes of the log find no room. */
const fillDisk = (times: number): void => {
  let left = times;
  fs.writeSync = ((descriptor: number, ...rest: [Uint8Array]) => {
    if (left > 0 && isLog(descriptor)) {
      left -= 1;
      throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
    }
    return writeSync(descriptor, ...rest);
  }) as typeof writeSync;
  syncBuiltinESMExports();
};

test('a commit waits for room on the disk', async () => {
  fillDisk(3);
  await database.exec('insert into numbers values (1)');
  assert.equal(seen, ['full', 'room']);
  fs.writeSync = writeSync;
  syncBuiltinESMExports();
  assert.equal((await database.query('select number from numbers')).rows, [{ number: 1 }]);
});

test.run();

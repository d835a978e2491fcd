/**
 * A process that writes numbers into the embedded database, in commits of all sizes, and prints each with the
 * time of its answer: run by power-cut.stores.test.ts.
 */
import { writeSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { nowMs } from '../../../bench/prove/client-log.ts';
import { syncFiles } from '../../../storage/embedded/background-syncs.ts';
import { createSyncedFiles } from '../../../storage/embedded/synced-files.ts';

const [directory = ''] = process.argv.slice(2);

/** Commits of all sizes, checkpoints on their way meanwhile, new tables, and a vacuum. */
const work = async (): Promise<void> => {
  const files = createSyncedFiles(directory, {
    syncFiles,
    onFailure: (error) => {
      throw error;
    },
    onDiskFull: () => {},
    onCheckpointDue: () => {},
  });
  const startParams = PGlite.defaultStartParams.filter((parameter) => parameter !== '-F');
  const database = await PGlite.create({
    fs: files.fileSystem,
    startParams: [
      ...startParams,
      '-c',
      'wal_sync_method=fsync',
      '-c',
      'shared_buffers=16MB',
      '-c',
      'max_active_replication_origins=0',
    ],
  });
  await files.awaitCheckpoint();
  files.markOpened();
  for (let number = 1; number <= 160; number++) {
    const rows = number % 10 === 0 ? 3_000 : 1;
    await database.exec(`begin; insert into numbers values (${number});
      insert into texts select ${number}, repeat(md5(n::text), 9) from generate_series(1, ${rows}) n;
      update latest set number = ${number}; commit`);
    writeSync(1, `${number} ${nowMs()}\n`);
    if (number % 60 === 30) await database.exec(`create table made_${number} as select * from numbers`);
    // From 80 on each begins before the one before counts.
    if (number % (number < 80 ? 40 : 8) === (number < 80 ? 20 : 4)) await database.exec('checkpoint');
    if (number % 100 === 99) await database.exec('vacuum texts');
    if (number % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await database.close();
  await files.awaitCheckpoint();
};

await work();

/**
 * Where the test files of one run keep their files: a temporary folder, in memory where there is room, and
 * below it a cache that they share.
 *
 * The cache is named in the environment of every test file by `sharedVariable` and removed when the runner
 * ends, however it ends short of SIGKILL. It contains only what any test file can rebuild.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedVariable } from '../../bench/shared/shared-folder.ts';

const memoryFolder = '/dev/shm';
const memoryBytesMin = 4 * 1024 ** 3;

/** Creates the cache and passes it to the test files started from now on. */
export const shareCache = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-cache-'));
  process.env[sharedVariable] = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
};

/**
 * Puts temporary files in memory, unless `TMPDIR` names another place: databases are copied and synced some
 * hundred times, which costs a second each on many disks. Not for tests of what happens to real files.
 */
export const useMemoryFolder = (): void => {
  if (process.env.TMPDIR === undefined && readFreeBytes() >= memoryBytesMin)
    process.env.TMPDIR = memoryFolder;
};

/** 0 where there is no such folder. */
const readFreeBytes = (): number => {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return bavail * bsize;
  } catch {
    return 0;
  }
};

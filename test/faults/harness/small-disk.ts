/**
 * A small disk of the test's own, to fill: a tmpfs, which needs the right to mount.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skip } from './fault-case.ts';

const mount = (folder: string, bytes: number): boolean => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    const words = ['-t', 'tmpfs', '-o', `size=${bytes},mode=755`, 'rollcall-small', folder];
    execFileSync('mount', words, { stdio: 'ignore' });
    return true;
  } catch {
    // Containers without that right.
    return false;
  }
};

/** Runs the task on a disk of so many bytes; resolves to `null` where this system lets us mount none. */
export const onSmallDisk = async <Result>(
  name: string,
  bytes: number,
  task: (folder: string) => Promise<Result>,
): Promise<Result | null> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-disk-'));
  try {
    if (!mount(folder, bytes)) return skip(name, 'no right to mount a small disk');
    try {
      return await task(folder);
    } finally {
      execFileSync('umount', ['-l', folder]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Takes all the room there is, to the last page, whatever else writes; returns the file to delete. */
export const fillDisk = (folder: string): string => {
  const ballast = join(folder, 'ballast');
  for (let bytes = 64 * 2 ** 10; bytes >= 512; ) {
    try {
      appendFileSync(ballast, Buffer.alloc(bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      bytes /= 2;
    }
  }
  return ballast;
};

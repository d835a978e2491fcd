/**
 * What the test files of one run share below one folder, which their runner names in the environment and
 * removes (test/runner/cache.ts): things that any of them could make again for itself. Without a runner
 * there is no such folder.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';

export const sharedVariable = 'ROLLCALL_TEST_CACHE';

/** `null` where nobody shares. */
export const sharedFolder = (): string | null => process.env[sharedVariable] || null;

/**
 * Makes a folder that is not there yet. Two processes may do it at once: the first to finish gives it its
 * name, the other drops its own, which is as good.
 */
export const makeOnce = async (
  folder: string,
  make: (folder: string) => void | Promise<void>,
): Promise<void> => {
  if (existsSync(folder)) return;
  const mine = `${folder}.${process.pid}`;
  await make(mine);
  try {
    renameSync(mine, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(mine, { recursive: true });
  }
};

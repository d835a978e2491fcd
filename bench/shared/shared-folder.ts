/**
 * The folder that the test files of one run share. Their runner names it in the environment and removes it
 * (test/runner/cache.ts). It contains only what each of them could make again. Without a runner there is no
 * such folder.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';

export const sharedVariable = 'ROLLCALL_TEST_CACHE';

/** `null` without a runner. */
export const getSharedFolder = (): string | null => process.env[sharedVariable] || null;

/**
 * Makes a folder that is not there yet. Two processes may do it at once: the first to finish renames its
 * folder, the other deletes its own, which is equivalent.
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

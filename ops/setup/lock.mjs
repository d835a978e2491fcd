/**
 * Lets only one process install at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../../storage/embedded/lock-file.mjs';

const pollMs = 250;

/** Waits for the lock at `path`, runs `task` and releases the lock. Resolves to the result of `task`. */
export const withLock = async (path, task) => {
  let lock = await takeLock(path);
  if (lock === null) console.error('Another process is installing the libraries. Waiting for it to finish.');
  for (; lock === null; lock = await takeLock(path)) await sleep(pollMs);
  try {
    return await task();
  } finally {
    lock.release();
  }
};

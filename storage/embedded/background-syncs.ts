/**
 * Syncs of the embedded SQL's files that no request waits for, one at a time.
 *
 * They run beside the main thread's work: in the thread of the database each would wait for the end of a
 * statement, and under statements of seconds no checkpoint would be completed.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const descriptorWaitMs = 100;

const lacksDescriptors = ({ code }: NodeJS.ErrnoException): boolean => code === 'EMFILE' || code === 'ENFILE';

/** Opens a file, and waits while no descriptor is free. Resolves to `null` if the file is gone or renamed. */
export const openWhenPossible = async (path: string): Promise<number | null> => {
  for (;;) {
    try {
      return openSync(path, 'r+');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      if (!lacksDescriptors(error as NodeJS.ErrnoException)) throw error;
      await pause(descriptorWaitMs);
    }
  }
};

/** Syncs the files. Rejects if one that exists could not be synced. */
export const syncFiles = async (paths: readonly string[]): Promise<void> => {
  for (const path of paths) {
    const descriptor = await openWhenPossible(path);
    // Postgres syncs a file under its new name, too, after it renamed it.
    if (descriptor === null) continue;
    try {
      await promisify(fdatasync)(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
};

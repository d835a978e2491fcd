/**
 * Locks the data folder for one process, before anything in it is opened (lock-file.mjs).
 */
import { join } from 'node:path';
import { makeDataFolder } from './folder.ts';
import { type FileLock, readOwner, readText, takeLock } from './lock-file.mjs';

/** Another process uses the folder, or it cannot be locked; the message is for the operator. */
export class DataLocked extends Error {
  override readonly name = 'DataLocked';
}

const toLockPath = (directory: string): string => join(directory, 'lock');

/** Reads the content of the lock file of a folder, `''` if there is none. */
export const readLockOwner = (directory: string): string => readText(toLockPath(directory));

const createLockedError = (directory: string): DataLocked => {
  const path = toLockPath(directory);
  const owner = readOwner(path);
  const ownerName = owner ? `process ${owner.pid} on ${owner.host}` : 'another process';
  return new DataLocked(
    `The data folder ${directory} is in use by ${ownerName}. Two processes on one folder would destroy it. ` +
      `Stop that process, or give this one another folder with DATA_DIR. If you are sure that no such ` +
      `process runs, delete ${path} and start again.`,
  );
};

const describeLostLock = (directory: string): string =>
  `The data folder ${directory} was deleted, or locked by another process. This one ends at once and ` +
  'writes nothing more: two processes on one folder would destroy it.';

/**
 * Locks the folder, and creates it if missing. Rejects with `DataLocked` if another process uses it. Calls
 * `onLost` with a message for the operator when the lock is lost: then nothing in the folder may be written.
 */
export const lockDataDirectory = async (
  directory: string,
  onLost: (message: string) => void = () => {},
): Promise<FileLock> => {
  makeDataFolder(directory);
  const lock = await takeLock(toLockPath(directory), () => onLost(describeLostLock(directory)));
  if (lock === null) throw createLockedError(directory);
  return lock;
};

/** Runs a task that needs the folder for itself. */
export const runLocked = async <Result>(directory: string, task: () => Promise<Result>): Promise<Result> => {
  const lock = await lockDataDirectory(directory);
  return task().finally(lock.release);
};

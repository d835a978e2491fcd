/**
 * Room on the disk of a data folder: how much is free, and what a start says that fails for lack of it.
 *
 * Such a start ends at once instead of waiting; the next one, once there is room, finds everything.
 */
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../engine/errors.ts';

/** With less than this a database that cannot be opened lacks room: more than any one file that it writes. */
const openBytesMin = 8 * 2 ** 20;
/** New databases of both stores, and what the hot store leaves free. */
const startMiB = 64;
/** In Node, and in LMDB. */
const fullCodes = new Set<unknown>(['ENOSPC', 'EDQUOT', 28, 122]);

export const measureFreeBytes = (folder: string): number => {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // Some file systems do not report free space. The stores themselves report when it is full.
    return Number.POSITIVE_INFINITY;
  }
};

export const formatMiB = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** Whether a trial file finds room: a quota shows in no figure of the file system. */
const hasRoomInQuota = (folder: string): boolean => {
  const file = join(folder, `room-${process.pid}`);
  try {
    writeFileSync(file, Buffer.alloc(openBytesMin));
    return true;
  } catch (error) {
    return !fullCodes.has((error as NodeJS.ErrnoException).code);
  } finally {
    rmSync(file, { force: true });
  }
};

/** Whether a database in this folder that failed to open for an unclear reason lacked room. */
export const isRoomLacking = (folder: string): boolean =>
  measureFreeBytes(folder) < openBytesMin || !hasRoomInQuota(folder);

const isFull = (error: unknown): boolean =>
  error instanceof Error &&
  ((error instanceof StorageError && error.reason === 'full') ||
    fullCodes.has((error as NodeJS.ErrnoException).code) ||
    isFull(error.cause));

/** Returns the error of a start that failed with `error`: for a full disk, one for the operator. */
export const explainFullDisk = (dataDirectory: string, error: unknown): unknown => {
  if (!isFull(error)) return error;
  return new Error(
    `disk full: ${formatMiB(measureFreeBytes(dataDirectory))} MiB are free for ${dataDirectory}, too few ` +
      `to start (${(error as Error).message}). Make room, ${startMiB} MiB or more, and start again.`,
    { cause: error },
  );
};

/**
 * Room on the disk of a data folder: how much is free, and what a start says that fails for lack of it, or
 * because the disk is read-only.
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
const readOnlyCodes = new Set<unknown>(['EROFS', 30]);

const usedQuotaNumber = -122;
/** Returns the code of an error of the file system. Node has no name for a quota that is used up. */
export const getErrorCode = (error: unknown): unknown => {
  const { code, errno } = error as NodeJS.ErrnoException;
  return errno === usedQuotaNumber ? 'EDQUOT' : code;
};

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

/** Writes a trial file: neither a quota nor a disk with an error shows in the figures of a file system. */
const tryWriting = (folder: string): unknown => {
  const file = join(folder, `room-${process.pid}`);
  try {
    writeFileSync(file, Buffer.alloc(openBytesMin));
    return undefined;
  } catch (error) {
    return error;
  } finally {
    rmSync(file, { force: true });
  }
};

/** Whether a database in this folder that failed to open for an unclear reason lacked room. */
export const isRoomLacking = (folder: string): boolean =>
  measureFreeBytes(folder) < openBytesMin || isFull(findCode(tryWriting(folder)));

const isFull = (code: unknown): boolean => fullCodes.has(code);

/** The code of what a disk lacks, in the chain of causes; `undefined` for none. */
const findCode = (error: unknown): unknown => {
  if (!(error instanceof Error)) return undefined;
  const code = getErrorCode(error);
  if (fullCodes.has(code) || readOnlyCodes.has(code)) return code;
  return (
    findCode(error.cause) ?? (error instanceof StorageError && error.reason === 'full' ? 'ENOSPC' : undefined)
  );
};

/**
 * Returns the error of a start that failed with `error`: for a disk that is full or read-only, and for a used
 * quota, one for the operator.
 */
export const explainFullDisk = (dataDirectory: string, error: unknown): unknown => {
  const code = findCode(error);
  if (code === undefined) return error;
  const { message } = error as Error;
  if (readOnlyCodes.has(code))
    return new Error(
      `The disk of ${dataDirectory} is read-only (${message}): the system makes it so after an error, see ` +
        'its log (dmesg). Nothing is lost. Check the disk, make it writable and start again.',
      { cause: error },
    );
  const freeBytes = measureFreeBytes(dataDirectory);
  // The embedded SQL does not say which of the two it was.
  const isQuota = code === 'EDQUOT' || freeBytes >= startMiB * 2 ** 20;
  const lack = isQuota
    ? `the quota of this user or project is used up for ${dataDirectory}: too little is left`
    : `disk full: ${formatMiB(freeBytes)} MiB are free for ${dataDirectory}, too few`;
  return new Error(`${lack} to start (${message}). Make room, ${startMiB} MiB or more, and start again.`, {
    cause: error,
  });
};

/** Says why nothing can be written in a folder, for the operator; `''` when it can. */
export const describeDiskFault = (folder: string): string => {
  const error = tryWriting(folder);
  const explained = explainFullDisk(folder, error);
  return explained === error ? '' : ` ${(explained as Error).message}`;
};

/**
 * The only writer of the embedded hot store: one transaction at a time, in order, each synced to disk.
 *
 * Owns the write queue, the check of free space and the translation of LMDB's failures. A task decides with
 * synchronous reads and passes one function that only puts; that function runs as one transaction, so either
 * all of it is on disk or none. After every failed write the mirror is read from disk again. Used by store.ts
 * and backlog.ts.
 */
import { statfsSync } from 'node:fs';
import { StorageError } from '../../../engine/errors.ts';
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import {
  createTwoGenerationCache,
  type TwoGenerationCache,
} from '../../../engine/tools/two-generation-cache.ts';
import { type StoredSlot, unpackSlot } from './codec.ts';
import { toSlotKey } from './keys.ts';
import type { ShardMirror, Tables } from './tables.ts';
import { measureUsedBytes, readMirror } from './tables.ts';

/**
 * A cache of recently used values in unpacked form. It agrees with the disk because one process owns the
 * folder: a writer updates it after its transaction is on disk, and a failed write empties it.
 */
export interface RecentValues {
  readonly slots: TwoGenerationCache<StoredSlot>;
  /** Visitors already counted, as `<listing> <visitor>`. They stay valid until their listing is deleted. */
  readonly visitors: TwoGenerationCache<true>;
}

/** The caches hold at least this many values, and at most twice as many. */
const recentSlotsMax = 20_000;
const recentVisitorsMax = 50_000;

export interface Writer {
  readonly tables: Tables;
  /** The folder of the store. */
  readonly folder: string;
  mirror: ShardMirror[];
  readonly recent: RecentValues;
  readonly sizeMaxBytes: number;
  /** Settles when the last task of the write queue ends. */
  tail: Promise<unknown>;
  usedBytes: number;
  writesUntilMeasured: number;
  closed: boolean;
}

/**
 * The used space is measured once per this many transactions; one of them writes far less than the reserve.
 */
const measureEveryWrites = 64;
const reserveShare = 1 / 16;

export const createWriter = (tables: Tables, folder: string, sizeMaxBytes: number): Writer => ({
  tables,
  folder,
  mirror: readMirror(tables, folder),
  recent: {
    slots: createTwoGenerationCache(recentSlotsMax),
    visitors: createTwoGenerationCache(recentVisitorsMax),
  },
  sizeMaxBytes,
  tail: Promise.resolve(),
  usedBytes: measureUsedBytes(tables),
  writesUntilMeasured: measureEveryWrites,
  closed: false,
});

/** Reads the slot stored at an address; `null` when there is none, `'damaged'` when it cannot be read. */
export const readStoredSlot = (
  { tables, recent }: Pick<Writer, 'tables' | 'recent'>,
  shard: Shard,
  address: EntityAddress,
): StoredSlot | 'damaged' | null => {
  const cached = recent.slots.get(address);
  if (cached !== undefined) return cached;
  const packed = tables.slots.get(toSlotKey(shard, address));
  if (packed === undefined) return null;
  return (packed && unpackSlot(packed)) ?? 'damaged';
};

/** Runs `task` alone, after all earlier tasks. Settles as the task does. */
export const runQueued = <Result>(writer: Writer, task: () => Promise<Result>): Promise<Result> => {
  const result = writer.tail.then(task);
  writer.tail = result.catch(() => undefined);
  return result;
};

/**
 * Codes that mean `full`: no space, quota, file size limit, a short write (5 in LMDB), and a full map,
 * transaction or page.
 */
const fullCodes = new Set([28, 122, 27, 5, -30792, -30788, -30786]);

/**
 * Reloads the mirror. Returns false if LMDB cannot be read, which happens only when its meta page may be
 * half written.
 */
const reloadMirror = (writer: Writer): boolean => {
  try {
    writer.recent.slots.clear();
    writer.recent.visitors.clear();
    writer.tables.root.resetReadTxn();
    writer.mirror = readMirror(writer.tables, writer.folder);
    return true;
  } catch {
    // The caller reports it as an unknown outcome.
    return false;
  }
};

/**
 * Wraps a failed write. While LMDB can be read, the failed transaction's meta page was not written, so the
 * transaction had no effect; otherwise the outcome is unknown.
 */
const toStorageError = async (writer: Writer, operation: string, failure: unknown): Promise<StorageError> => {
  const { commitError } = failure as { commitError?: Promise<never> };
  const cause = await (commitError ?? Promise.reject(failure)).catch((reason: unknown) => reason);
  const readable = reloadMirror(writer);
  const full = fullCodes.has(Number((cause as { code?: unknown }).code));
  return new StorageError(operation, {
    outcome: readable ? 'not_applied' : 'unknown',
    reason: full ? 'full' : 'bug',
    cause,
    detail: `${cause}${readable ? '' : '; the store cannot continue, restart the process'}`,
  });
};

/**
 * Free space to leave on the disk: below the first limit commits are refused; below the second all writes
 * are. LMDB must not meet a full disk: after a few dozen failed writes its native code ends the process.
 */
const diskBytesForCommits = 32 * 2 ** 20;
const diskBytesForWrites = 8 * 2 ** 20;

const measureFreeBytes = (folder: string): number => {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // Some file systems do not report free space. LMDB itself reports when it is full.
    return Number.POSITIVE_INFINITY;
  }
};

/** Says how much room the disk lacks, for operators; `null` while commits, or writes of so much, fit. */
export const describeFullDisk = ({ folder }: Writer, bytesMin = diskBytesForCommits): string | null => {
  const freeBytes = measureFreeBytes(folder);
  if (freeBytes >= bytesMin) return null;
  const [free, needed] = [freeBytes, bytesMin].map((bytes) => (bytes / 2 ** 20).toFixed(1));
  return `disk full: ${free} MiB are free for ${folder}, and changes need ${needed} MiB`;
};

const assertDiskRoom = (writer: Writer, operation: string, bytesMin: number): void => {
  const detail = describeFullDisk(writer, bytesMin);
  if (detail === null) return;
  throw new StorageError(operation, { outcome: 'not_applied', reason: 'full', detail });
};

/** Throws `full` before a write that might not fit, because LMDB grows its file without a limit. */
export const assertRoom = (writer: Writer, operation: string): void => {
  assertDiskRoom(writer, operation, diskBytesForCommits);
  if (--writer.writesUntilMeasured <= 0) {
    writer.writesUntilMeasured = measureEveryWrites;
    writer.usedBytes = measureUsedBytes(writer.tables);
  }
  if (writer.usedBytes <= writer.sizeMaxBytes * (1 - reserveShare)) return;
  // While full, measure every time, so that removals take effect at once.
  writer.usedBytes = measureUsedBytes(writer.tables);
  if (writer.usedBytes <= writer.sizeMaxBytes * (1 - reserveShare)) return;
  const detail = `${writer.usedBytes} of ${writer.sizeMaxBytes} bytes used`;
  throw new StorageError(operation, { outcome: 'not_applied', reason: 'full', detail });
};

/** Runs `puts` as one transaction, synced to disk when it resolves. Call only inside the write queue. */
export const write = async (writer: Writer, operation: string, puts: () => void): Promise<void> => {
  assertDiskRoom(writer, operation, diskBytesForWrites);
  try {
    await writer.tables.root.batch(puts);
  } catch (failure) {
    throw await toStorageError(writer, operation, failure);
  }
};

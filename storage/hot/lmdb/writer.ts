/**
 * The only writer of the embedded hot store: one transaction at a time, in order, synced before it counts.
 *
 * Owns the write lane, the room check and the translation of LMDB's failures. A task decides (synchronous
 * reads) and hands back one function that only puts; that function runs as one transaction, so all of it is
 * on disk or none. After a failed write the mirror is read from disk again, whatever the failure was.
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
 * What is on disk, of what was used lately, read and unpacked already. Right because one process alone owns
 * the folder: whoever writes such a row puts it here once it is on disk, and a failed write empties it.
 */
export interface RecentRows {
  readonly slots: TwoGenerationCache<StoredSlot>;
  /** Visitors that are known, as `<listing> <visitor>`. They stay known as long as their listing lives. */
  readonly visitors: TwoGenerationCache<true>;
}

/** Held at least; twice as many at most. */
const recentSlotsMax = 20_000;
const recentVisitorsMax = 50_000;

export interface Writer {
  readonly tables: Tables;
  /** Where the store lies. */
  readonly folder: string;
  mirror: ShardMirror[];
  readonly recent: RecentRows;
  readonly sizeMaxBytes: number;
  /** Settles when the last task in the lane is over. */
  tail: Promise<unknown>;
  usedBytes: number;
  writesUntilMeasured: number;
  closed: boolean;
}

/** How often the room in use is measured, in transactions. One of them writes far less than the reserve. */
const measureEveryWrites = 64;
const reserveShare = 1 / 16;

export const createWriter = (tables: Tables, folder: string, sizeMaxBytes: number): Writer => ({
  tables,
  folder,
  mirror: readMirror(tables),
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

/** The slot on disk at an address, `null` when there is none. */
export const readStoredSlot = (
  { tables, recent }: Pick<Writer, 'tables' | 'recent'>,
  shard: Shard,
  address: EntityAddress,
): StoredSlot | null => {
  const known = recent.slots.get(address);
  if (known !== undefined) return known;
  const row = tables.slots.get(toSlotKey(shard, address));
  return row ? unpackSlot(row) : null;
};

/** Runs `task` after all earlier ones, alone. */
export const runQueued = <Result>(writer: Writer, task: () => Promise<Result>): Promise<Result> => {
  const result = writer.tail.then(task);
  writer.tail = result.catch(() => undefined);
  return result;
};

/**
 * No space, quota, file size limit, a write cut short (LMDB calls it 5); the map, transaction or page is
 * full.
 */
const fullCodes = new Set([28, 122, 27, 5, -30792, -30788, -30786]);

/**
 * Reads the mirror again; false when LMDB gave up, which it does only when its meta page may be half written.
 */
const readAgain = (writer: Writer): boolean => {
  try {
    writer.recent.slots.clear();
    writer.recent.visitors.clear();
    writer.tables.root.resetReadTxn();
    writer.mirror = readMirror(writer.tables);
    return true;
  } catch {
    // The caller reports it as an unknown outcome.
    return false;
  }
};

/**
 * As long as LMDB can be read, the meta page of the failed transaction was not written: it never happened.
 */
const toStorageError = async (writer: Writer, operation: string, failure: unknown): Promise<StorageError> => {
  const { commitError } = failure as { commitError?: Promise<never> };
  const cause = await (commitError ?? Promise.reject(failure)).catch((reason: unknown) => reason);
  const readable = readAgain(writer);
  const full = fullCodes.has(Number((cause as { code?: unknown }).code));
  return new StorageError(operation, {
    outcome: readable ? 'not_applied' : 'unknown',
    reason: full ? 'full' : 'bug',
    cause,
    detail: `${cause}${readable ? '' : '; the store cannot go on, start it again'}`,
  });
};

/**
 * Left free on the disk: below the first, nothing new is counted; below the second, nothing is written at
 * all. LMDB must not meet a full disk: after some dozen failed writes its native side ends the process.
 */
const diskBytesForCommits = 32 * 2 ** 20;
const diskBytesForWrites = 8 * 2 ** 20;

const measureFreeBytes = (folder: string): number => {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // Not every file system tells. LMDB says itself when it is full.
    return Number.POSITIVE_INFINITY;
  }
};

const assertDiskRoom = (writer: Writer, operation: string, bytesMin: number): void => {
  if (measureFreeBytes(writer.folder) >= bytesMin) return;
  const detail = `less than ${bytesMin >> 20} MiB left on the disk of ${writer.folder}`;
  throw new StorageError(operation, { outcome: 'not_applied', reason: 'full', detail });
};

/** Refuses early what would not fit: LMDB grows its file without asking. */
export const assertRoom = (writer: Writer, operation: string): void => {
  assertDiskRoom(writer, operation, diskBytesForCommits);
  if (--writer.writesUntilMeasured <= 0) {
    writer.writesUntilMeasured = measureEveryWrites;
    writer.usedBytes = measureUsedBytes(writer.tables);
  }
  if (writer.usedBytes <= writer.sizeMaxBytes * (1 - reserveShare)) return;
  // Measured again at once while full, so that removals are noticed.
  writer.usedBytes = measureUsedBytes(writer.tables);
  if (writer.usedBytes <= writer.sizeMaxBytes * (1 - reserveShare)) return;
  const detail = `${writer.usedBytes} of ${writer.sizeMaxBytes} bytes used`;
  throw new StorageError(operation, { outcome: 'not_applied', reason: 'full', detail });
};

/** Runs `puts` as one transaction; synced to disk when it resolves. Only inside the lane. */
export const write = async (writer: Writer, operation: string, puts: () => void): Promise<void> => {
  assertDiskRoom(writer, operation, diskBytesForWrites);
  try {
    await writer.tables.root.batch(puts);
  } catch (failure) {
    throw await toStorageError(writer, operation, failure);
  }
};

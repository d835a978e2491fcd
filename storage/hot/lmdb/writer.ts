/**
 * The writer of the embedded hot store: its queues, its memory, and the checks of free space.
 *
 * Two queues, each runs one task at a time: the *write queue* for everything that decides, appends to the
 * journal or must stand still while something else does; the *table queue* for transactions of LMDB, which
 * commits do not wait for. A task of the write queue may wait for the table queue, never the reverse. A
 * transaction is synced when it resolves, and either all of it is on disk or none.
 */
import { createNotAppliedError, type StorageError, toNotAppliedError } from '../../../engine/errors.ts';
import {
  createTwoGenerationCache,
  type TwoGenerationCache,
} from '../../../engine/tools/two-generation-cache.ts';
import { formatMiB, measureFreeBytes } from '../../disk-room.ts';
import type { StoredSlot } from './codec.ts';
import type { Journal } from './journal.ts';
import { createPending, type Pending } from './pending-values.ts';
import { countStoredBacklog, measureUsedBytes, readMirror, type ShardMirror, type Tables } from './tables.ts';

/** The cache holds at least this many slots, and at most twice as many. */
const recentSlotsMax = 20_000;

export interface Writer {
  readonly tables: Tables;
  /** The folder of the store. */
  readonly folder: string;
  readonly mirror: ShardMirror[];
  /** Recently used slots in unpacked form; they always agree with the store. */
  readonly recentSlots: TwoGenerationCache<StoredSlot>;
  readonly pending: Pending;
  /** Dirty slots, and votes in the outbox. */
  backlog: { entities: number; votes: number };
  journal: Journal;
  readonly sizeMaxBytes: number;
  /** A checkpoint begins when so many bytes are pending, and commits are refused beyond the second number. */
  readonly checkpointBytes: number;
  readonly pendingBytesMax: number;
  /** Settles when the last task of the write queue ends. */
  tail: Promise<unknown>;
  /** Settles when the last task of the table queue ends. */
  tablesTail: Promise<unknown>;
  /** Checkpoints that were begun and have not ended. */
  checkpoints: number;
  /** The tables hold a part of a checkpoint: they are whole only together with the journal. */
  partial: boolean;
  /** Bytes that ever became pending, and how many of them have been written to the tables. */
  addedBytes: number;
  writtenBytes: number;
  usedBytes: number;
  scheduled: 'idle' | 'running';
  timer: NodeJS.Timeout | null;
  /** Why the last checkpoint failed, until one succeeds. */
  failure: string | null;
  closed: boolean;
}

export type WriterOptions = Pick<Writer, 'folder' | 'sizeMaxBytes' | 'checkpointBytes' | 'pendingBytesMax'>;

const reserveShare = 1 / 16;

/** Creates the writer without its journal, which is opened next, because the writer adopts its records. */
export const createWriter = (tables: Tables, options: WriterOptions): Omit<Writer, 'journal'> => ({
  ...options,
  tables,
  mirror: readMirror(tables, options.folder),
  recentSlots: createTwoGenerationCache(recentSlotsMax),
  pending: createPending(),
  backlog: countStoredBacklog(tables),
  tail: Promise.resolve(),
  tablesTail: Promise.resolve(),
  checkpoints: 0,
  partial: false,
  addedBytes: 0,
  writtenBytes: 0,
  usedBytes: measureUsedBytes(tables),
  scheduled: 'idle',
  timer: null,
  failure: null,
  closed: false,
});

/** Runs `task` alone, after all earlier tasks of the queue with this end. Settles as the task does. */
const createRunner =
  (end: 'tail' | 'tablesTail') =>
  <Result>(writer: Writer, task: () => Promise<Result>): Promise<Result> => {
    const result = writer[end].then(task);
    writer[end] = result.catch(() => undefined);
    return result;
  };
/** Runs a task in the write queue. */
export const runQueued = createRunner('tail');
/** Runs a task in the table queue. */
export const runInTables = createRunner('tablesTail');

/** Bytes of records, and of acknowledged flushes, that the tables lack. */
export const countPendingBytes = ({ addedBytes, writtenBytes }: Writer): number => addedBytes - writtenBytes;

/**
 * Codes that mean `full`: no space, quota, file size limit, a short write (5 in LMDB), and a full map,
 * transaction or page.
 */
const fullCodes = new Set([28, 122, 27, 5, -30792, -30788, -30786]);

/** Wraps a failed transaction: it had no effect. */
const toStorageError = async (operation: string, failure: unknown): Promise<StorageError> => {
  const { commitError } = failure as { commitError?: Promise<never> };
  const cause = await (commitError ?? Promise.reject(failure)).catch((reason: unknown) => reason);
  const reason = fullCodes.has(Number((cause as { code?: unknown }).code)) ? 'full' : 'bug';
  return toNotAppliedError(operation, reason, cause);
};

/**
 * Free space to leave on the disk: below the first limit commits are refused; below the second all writes
 * are. LMDB must not meet a full disk: after a few dozen failed writes its native code ends the process.
 */
const diskBytesForCommits = 32 * 2 ** 20;
const diskBytesForWrites = 8 * 2 ** 20;

/** Says how much room the disk lacks; `null` while commits, or other writes, fit. */
export const describeLack = (writer: Writer, bytesMin = diskBytesForCommits): string | null => {
  const freeBytes = measureFreeBytes(writer.folder);
  // What is pending needs as much again in the tables.
  const neededBytes = bytesMin + countPendingBytes(writer);
  if (freeBytes >= neededBytes) return null;
  const [free, needed] = [freeBytes, neededBytes].map(formatMiB);
  return `${free} MiB are free for ${writer.folder}, and changes need ${needed} MiB`;
};

const assertDiskRoom = (writer: Writer, operation: string, bytesMin: number): void => {
  const lack = describeLack(writer, bytesMin);
  if (lack !== null) throw createNotAppliedError(operation, 'full', `disk full: ${lack}`);
};

const isRoomy = (writer: Writer): boolean =>
  countPendingBytes(writer) < writer.pendingBytesMax &&
  writer.usedBytes + countPendingBytes(writer) <= writer.sizeMaxBytes * (1 - reserveShare);

/**
 * Throws `full` before a commit that might not fit, because LMDB grows its file without a limit. `makeRoom`
 * moves what is pending into the tables, where many changes of a value are one.
 */
export const assertRoom = async (
  writer: Writer,
  operation: string,
  makeRoom: () => Promise<void>,
): Promise<void> => {
  assertDiskRoom(writer, operation, diskBytesForCommits);
  if (isRoomy(writer)) return;
  // After a failed checkpoint only its timer tries again, so that LMDB does not fail at the rate of requests.
  if (writer.failure === null) await makeRoom();
  // While full, measure every time, so that removals take effect at once.
  writer.usedBytes = measureUsedBytes(writer.tables);
  if (isRoomy(writer)) return;
  const detail = writer.failure ?? `${writer.usedBytes} of ${writer.sizeMaxBytes} bytes used`;
  throw createNotAppliedError(operation, 'full', detail);
};

/** Runs `puts` as one transaction of the table queue, synced to disk when it resolves. */
export const writeInTables = (writer: Writer, operation: string, puts: () => void): Promise<void> =>
  runInTables(writer, () => write(writer, operation, puts));

/** Runs `puts` as one transaction, synced to disk when it resolves. Call only inside the table queue. */
export const write = async (writer: Writer, operation: string, puts: () => void): Promise<void> => {
  assertDiskRoom(writer, operation, diskBytesForWrites);
  try {
    await writer.tables.root.batch(puts);
  } catch (failure) {
    throw await toStorageError(operation, failure);
  }
  // Reads from now on must see what was written.
  writer.tables.root.resetReadTxn();
};

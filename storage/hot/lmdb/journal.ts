/**
 * The journal of the embedded hot store: appends numbered records to its newest file (journal-files.ts).
 *
 * An append resolves when its record is synced, and only then may anything show or use what is in it. A
 * failed append is cut off before the next one, so that no later record follows half of one. A failed sync
 * ends the journal: the system may have dropped what it could not write, so nothing is certain any more. One
 * append at a time; called by store.ts and checkpoint.ts.
 *
 * An append that makes a file longer needs two writes at its sync: the record, and the file's new length. So
 * zeros for some hundred records are written ahead in the background, and records overwrite them. If zeros
 * cannot be written, nothing fails: the file then grows with its records. Zeros are written through a
 * descriptor of their own. The system reports a failed write once per descriptor, so the journal's own
 * descriptor still reports every failure that concerns records.
 */
import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { StorageError, toNotAppliedError } from '../../../engine/errors.ts';
import { getErrorCode } from '../../disk-room.ts';
import { createFile, type JournalFolder, readJournal, syncFolder, toPath } from './journal-files.ts';
import { type RecordBuffer, sealRecord } from './journal-records.ts';

export interface Journal {
  readonly folder: string;
  /** Start of all checksums. */
  readonly seed: number;
  /** Makes the content of a file durable. */
  readonly sync: (file: number) => Promise<void>;
  path: string;
  file: number;
  /** The number of the last synced record. */
  sequence: number;
  /** Bytes of records. */
  bytes: number;
  /** The end of the zeros that are on disk behind the records. */
  zerosEnd: number;
  /** Settles when the running portion of zeros is written; `null` when none runs. */
  filling: Promise<void> | null;
  /** A portion failed: this file gets no more zeros. */
  zerosFailed: boolean;
  /** More than the synced records may be in the file. */
  torn: boolean;
  /** A sync failed. */
  lost: boolean;
}

export interface JournalOptions extends JournalFolder {
  readonly sync: (file: number) => Promise<void>;
}

/**
 * Opens the journal and passes the content of every record that the tables lack to `each`. All records are
 * synced when it returns: none may vanish after it was used. Throws as `readJournal` does.
 */
export const openJournal = (options: JournalOptions, each: (content: Buffer) => void): Journal => {
  const { folder, seed, sync } = options;
  const { first, bytes, next, zerosEnd } = readJournal(options, each);
  const path = toPath(folder, first);
  const file = openSync(path, 'r+');
  if (zerosEnd === 0) ftruncateSync(file, bytes);
  fdatasyncSync(file);
  syncFolder(folder);
  const journal = { folder, seed, sync, file, sequence: next - 1, torn: false, lost: false };
  return { ...journal, path, bytes, zerosEnd, filling: null, zerosFailed: false };
};

const cut = (journal: Journal): void => {
  if (!journal.torn) return;
  ftruncateSync(journal.file, journal.bytes);
  journal.zerosEnd = 0;
  journal.torn = false;
};

const writeWhole = ({ file, bytes }: Journal, record: Buffer): void => {
  for (let done = 0; done < record.length; )
    done += writeSync(file, record, done, record.length - done, bytes + done);
};

const fullCodes = new Set<unknown>(['ENOSPC', 'EDQUOT', 'EFBIG']);

const toFileError = (operation: string, cause: unknown): StorageError => {
  const reason = fullCodes.has(getErrorCode(cause)) ? 'full' : 'bug';
  return toNotAppliedError(operation, reason, cause);
};

const tryCut = (journal: Journal): void => {
  try {
    cut(journal);
  } catch {
    // The next append cuts it off again, or else the next start does, which finds half a record.
    journal.torn = true;
  }
};

/** Writes the record to the system. What a failure leaves in the file, the next append cuts off. */
const write = (journal: Journal, operation: string, record: Buffer): void => {
  try {
    cut(journal);
    journal.torn = true;
    writeWhole(journal, record);
    journal.torn = false;
  } catch (cause) {
    tryCut(journal);
    throw toFileError(operation, cause);
  }
};

/** Bytes of zeros written at a time. The next portion begins when half of this is left. */
const portionBytes = 128 * 1_024;
/** Linux would cache a larger write as one unit, and count all of it for each record in it. */
const pageBytes = 4_096;
const zeros = Buffer.alloc(pageBytes);

/** After a failure the file gets no more zeros. */
const changeFile = async (journal: Journal, change: (handle: FileHandle) => Promise<void>): Promise<void> => {
  try {
    const handle = await open(journal.path, 'r+');
    try {
      await change(handle);
    } finally {
      await handle.close();
    }
  } catch {
    journal.zerosFailed = true;
  }
};

const writeZeros = async (journal: Journal): Promise<void> => {
  const from = Math.max(journal.bytes, journal.zerosEnd);
  await changeFile(journal, async (handle) => {
    let end = from;
    while (end < from + portionBytes)
      end += (await handle.write(zeros, 0, pageBytes - (end % pageBytes), end)).bytesWritten;
    await handle.datasync();
    journal.zerosEnd = end;
  });
  journal.filling = null;
};

/** Begins the next portion in the background when little is left. */
const fillAhead = (journal: Journal): void => {
  const { bytes, zerosEnd, filling, zerosFailed } = journal;
  if (zerosFailed || filling !== null || zerosEnd - bytes > portionBytes / 2) return;
  journal.filling = writeZeros(journal);
};

/** Resolves when so many bytes may follow the records: a running portion must not overwrite them. */
const awaitZeros = async (journal: Journal, bytes: number): Promise<void> => {
  if (journal.bytes + bytes > journal.zerosEnd) await journal.filling;
};

/**
 * Appends one record. Resolves to its bytes when it is *hot*. Rejects with a `StorageError`: `not_applied`
 * when the record is not in the journal, `unknown` when it could not be synced; then the journal is lost.
 */
export const addRecord = async (
  journal: Journal,
  operation: string,
  content: RecordBuffer,
): Promise<number> => {
  const record = sealRecord(content, journal.sequence + 1, journal.seed);
  const { length } = record;
  await awaitZeros(journal, length);
  write(journal, operation, record);
  try {
    await journal.sync(journal.file);
  } catch (cause) {
    journal.lost = true;
    // A later start must not read this record: the system may show bytes that the disk never got.
    journal.torn = true;
    tryCut(journal);
    throw new StorageError(operation, { outcome: 'unknown', reason: 'bug', cause, detail: String(cause) });
  }
  journal.sequence++;
  journal.bytes += length;
  fillAhead(journal);
  return length;
};

/** Begins a new file, unless this one is empty. Call while no append runs. Throws a `StorageError`. */
export const beginFile = (journal: Journal): void => {
  try {
    cut(journal);
    if (journal.bytes === 0) return;
    const first = journal.sequence + 1;
    const file = createFile(journal.folder, first);
    closeSync(journal.file);
    Object.assign(journal, {
      file,
      path: toPath(journal.folder, first),
      bytes: 0,
      zerosEnd: 0,
      zerosFailed: false,
    });
  } catch (cause) {
    throw toFileError('checkpoint', cause);
  }
};

/** Closes the file. The zeros stay: the next start uses them. */
export const endJournal = async (journal: Journal): Promise<void> => {
  await journal.filling;
  closeSync(journal.file);
};

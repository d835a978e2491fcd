/**
 * The journal of the embedded hot store: files of numbered records in the folder `journal`, newest last.
 *
 * An append resolves when its record is synced, and only then may anything show or use what is in it. A
 * failed append is cut off before the next one, so that no later record follows half of one. A failed sync
 * ends the journal: the system may have dropped what it could not write, so nothing is certain any more.
 * Behind the records of the newest file are zeros (journal-zeros.ts).
 * A file is named by the number of its first record. It is deleted when the tables hold all its records;
 * the file with the next record always exists, so a missing one is noticed. One append at a time; called by
 * store.ts and checkpoint.ts.
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { StorageError } from '../../../engine/errors.ts';
import { createFolderError } from './damage.ts';
import { type RecordBuffer, readRecords, sealRecord } from './journal-records.ts';
import { awaitZeros, fillAhead, type ZeroedFile } from './journal-zeros.ts';

export interface Journal extends ZeroedFile {
  path: string;
  readonly folder: string;
  /** Start of all checksums. */
  readonly seed: number;
  /** Makes the content of a file durable. */
  readonly sync: (file: number) => Promise<void>;
  file: number;
  /** The number of the last synced record. */
  sequence: number;
  /** More than the synced records may be in the file. */
  torn: boolean;
  /** A sync failed. */
  lost: boolean;
}

export interface JournalOptions {
  readonly folder: string;
  readonly seed: number;
  /** The number of the last record that the tables hold; `null` for a store that never had a journal. */
  readonly applied: number | null;
  readonly sync: (file: number) => Promise<void>;
}

const syncFolder = (folder: string): void => {
  // Windows cannot sync folders and need not.
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fdatasyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

const toPath = (folder: string, first: number): string => join(folder, `${first}.log`);

/** The numbers that name the files, ascending. */
const listFirsts = (folder: string): number[] =>
  readdirSync(folder)
    .filter((name) => /^\d+\.log$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((left, right) => left - right);

/** Creates an empty file, and makes its name durable. Leaves none behind when that fails. */
const createFile = (folder: string, first: number): number => {
  const path = toPath(folder, first);
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    syncFolder(folder);
    return file;
  } catch (error) {
    closeSync(file);
    rmSync(path);
    throw error;
  }
};

/** Creates the folder with an empty file, and makes both names durable. */
const createFolder = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeSync(createFile(folder, 1));
  syncFolder(dirname(folder));
  syncFolder(dirname(dirname(folder)));
};

/** Deletes files whose records are all in the tables; a crash had come before their deletion. */
const removeApplied = (folder: string, applied: number): void => {
  const firsts = listFirsts(folder);
  for (const [index, first] of firsts.entries()) {
    const next = firsts[index + 1];
    if (next !== undefined && next <= applied + 1) rmSync(toPath(folder, first));
  }
};

/** Deletes empty files, except the oldest: a crash or a failure came before their first record. */
const removeEmpty = (folder: string): void => {
  for (const first of listFirsts(folder).slice(1)) {
    const path = toPath(folder, first);
    if (statSync(path).size === 0) rmSync(path);
  }
};

interface ReadFile {
  readonly first: number;
  readonly bytes: number;
  readonly next: number;
  readonly zerosEnd: number;
}

/** Reads all files. Throws if a record is damaged or missing. */
const readFiles = ({ folder, seed, applied }: JournalOptions, each: (content: Buffer) => void): ReadFile => {
  const store = dirname(folder);
  const from = (applied ?? 0) + 1;
  const firsts = listFirsts(folder);
  let last: ReadFile | null = null;
  for (const [index, first] of firsts.entries()) {
    if (last === null ? first > from : first !== last.next) break;
    const path = toPath(folder, first);
    const content = readFileSync(path);
    const { bytes, next, end } = readRecords(content, { first, seed }, (sequence, content) => {
      if (sequence < from) return;
      try {
        each(content);
      } catch (cause) {
        throw createFolderError(store, `record ${sequence} in journal/${first}.log: ${cause}`);
      }
    });
    const isNewest = index === firsts.length - 1;
    if (end === 'damaged' || (end === 'torn' && !isNewest))
      throw createFolderError(store, `record ${next} in journal/${first}.log`);
    last = { first, bytes, next, zerosEnd: end === 'whole' ? content.length : 0 };
  }
  if (last === null || last.first !== firsts.at(-1) || last.next < from)
    throw createFolderError(store, `record ${last?.next ?? from} in journal/ is missing`);
  return last;
};

/**
 * Opens the journal, creates it for a store that never had one, and passes the content of every record that
 * the tables lack to `each`. All records are synced when it returns: none may vanish after it was used.
 * Throws for the operator if a record is damaged or missing.
 */
export const openJournal = (options: JournalOptions, each: (content: Buffer) => void): Journal => {
  const { folder, applied, seed, sync } = options;
  const exists = existsSync(folder) && listFirsts(folder).length > 0;
  if (!exists && applied !== null) throw createFolderError(dirname(folder), 'journal/ is missing');
  if (!exists) createFolder(folder);
  removeApplied(folder, applied ?? 0);
  removeEmpty(folder);
  const { first, bytes, next, zerosEnd } = readFiles(options, each);
  const path = toPath(folder, first);
  const file = openSync(path, 'r+');
  if (zerosEnd === 0) ftruncateSync(file, bytes);
  fdatasyncSync(file);
  syncFolder(folder);
  const journal = { folder, seed, sync, file, sequence: next - 1, torn: false, lost: false };
  return { ...journal, path, bytes, zerosEnd, filling: null, failed: false };
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

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

const toFileError = (operation: string, cause: unknown): StorageError => {
  const reason = fullCodes.has((cause as NodeJS.ErrnoException).code ?? '') ? 'full' : 'bug';
  return new StorageError(operation, { outcome: 'not_applied', reason, cause, detail: String(cause) });
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
      failed: false,
    });
  } catch (cause) {
    throw toFileError('checkpoint', cause);
  }
};

/** Deletes the files before the one that begins after record `applied`. */
export const removeFiles = (journal: Journal, applied: number): void =>
  removeApplied(journal.folder, applied);

/** Closes the file. The zeros stay: the next start uses them. */
export const endJournal = async (journal: Journal): Promise<void> => {
  await journal.filling;
  closeSync(journal.file);
};

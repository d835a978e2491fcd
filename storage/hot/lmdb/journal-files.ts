/**
 * The files of the journal in the folder `journal`, each named by the number of its first record.
 *
 * A file is deleted when the tables hold all its records; the file with the next record always exists, so a
 * missing one is noticed. Each name is durable before a record is written. Called by journal.ts, which
 * appends to the newest file, and by checkpoint.ts.
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolderError } from './damage.ts';
import { readRecords } from './journal-records.ts';

export interface JournalFolder {
  readonly folder: string;
  readonly seed: number;
  /** The number of the last record that the tables hold; `null` for a store that never had a journal. */
  readonly applied: number | null;
}

/** Makes the names in a folder durable. */
export const syncFolder = (folder: string): void => {
  // Windows cannot sync folders and need not.
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fdatasyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

export const toPath = (folder: string, first: number): string => join(folder, `${first}.log`);

/** Lists the numbers that name the files, ascending. */
const listFirsts = (folder: string): number[] =>
  readdirSync(folder)
    .filter((name) => /^\d+\.log$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((left, right) => left - right);

/** Creates an empty file, and makes its name durable. Leaves none behind when that fails. */
export const createFile = (folder: string, first: number): number => {
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

/** Deletes the files whose records are all in the tables, except the newest. */
export const removeApplied = (folder: string, applied: number): void => {
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

/** A file that was read: the bytes of its records, the number of the next one, and the end of its zeros. */
interface ReadFile {
  readonly first: number;
  readonly bytes: number;
  readonly next: number;
  readonly zerosEnd: number;
}

/** Reads all files. Throws for the operator if a record is damaged or missing. */
const readFiles = ({ folder, seed, applied }: JournalFolder, each: (content: Buffer) => void): ReadFile => {
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
 * Reads the journal, creates it for a store that never had one, and passes the content of every record that
 * the tables lack to `each`. Returns where the newest file ends. Throws for the operator if a record is
 * damaged or missing.
 */
export const readJournal = (options: JournalFolder, each: (content: Buffer) => void): ReadFile => {
  const { folder, applied } = options;
  const exists = existsSync(folder) && listFirsts(folder).length > 0;
  if (!exists && applied !== null) throw createFolderError(dirname(folder), 'journal/ is missing');
  if (!exists) createFolder(folder);
  removeApplied(folder, applied ?? 0);
  removeEmpty(folder);
  return readFiles(options, each);
};

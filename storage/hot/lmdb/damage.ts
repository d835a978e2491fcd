/**
 * Handles damage of the embedded hot store's file: refuses to open a file that was cut or overwritten, and
 * describes damaged values for the operator.
 *
 * LMDB maps its file into memory. Reading a page beyond the end of the file ends the process without any
 * message, and so does a first page that LMDB did not write.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RootDatabase } from 'lmdb';
import { createDamageError, type StorageError } from '../../../engine/errors.ts';
import { type Note, toNote } from '../../../engine/tools/notes.ts';

const describeRemedy = (folder: string): string =>
  `Stop the server, move ${folder} away and start it again: totals then come from SQL. Changes of ` +
  'damaged records that were not in SQL yet are lost; visitors who came before count as unique once more, ' +
  'and shards of bots count again from their next post.';

/** Creates the error of a folder that cannot be opened. It names what is damaged, and what to do. */
export const createFolderError = (folder: string, what: string): StorageError =>
  createDamageError(
    'open',
    `The embedded hot store in ${folder} is damaged (${what}). ${describeRemedy(folder)}`,
  );

/** Creates the list of tables with damage. */
export const createDamageList = (folder: string) => {
  const damaged = new Set<string>();
  const describe = (): Note | null =>
    damaged.size === 0
      ? null
      : toNote(
          'hot_store_damaged',
          `The embedded hot store is damaged (${[...damaged].sort().join(', ')}): requests that need the ` +
            `damaged records are answered 503, the rest works. ${describeRemedy(folder)}`,
        );
  return {
    /** Records that a value of this table was damaged when it was read. */
    record: (table: string) => void damaged.add(table),
    /** Says what is damaged and what to do; `null` for nothing. */
    describe,
  };
};

const readHeader = (descriptor: number, position: number): { isValid: boolean; pageBytes: number } => {
  const bytes = Buffer.alloc(64);
  readSync(descriptor, bytes, 0, bytes.length, position);
  return { isValid: bytes.readUInt32LE(24) === 0xbeefc0de, pageBytes: bytes.readUInt32LE(48) };
};

/** Throws if one of the first two pages of the file is not a header of LMDB. For a file that is not open. */
export const assertHeaders = (folder: string): void => {
  const file = join(folder, 'data.mdb');
  if (!existsSync(file) || statSync(file).size === 0) return;
  const descriptor = openSync(file, 'r');
  const first = readHeader(descriptor, 0);
  const isWhole = first.isValid && readHeader(descriptor, first.pageBytes).isValid;
  closeSync(descriptor);
  if (!isWhole) throw createFolderError(folder, 'its first pages');
};

/**
 * Throws if the file is shorter than LMDB's pages and reading all of it fails. The last pages may be missing
 * from a whole file when they were never written, so then a process of its own reads everything, and may die.
 */
export const assertWhole = async (root: RootDatabase<unknown, string>, folder: string): Promise<void> => {
  const { pageSize = 4_096, lastPageNumber = 0 } = root.getStats() as Record<string, number>;
  const { size } = statSync(join(folder, 'data.mdb'));
  const wanted = (lastPageNumber + 1) * pageSize;
  if (size >= wanted) return;
  const reader = fileURLToPath(new URL('read-all-main.ts', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, reader, folder], { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code === 0) return;
  await root.close();
  throw createFolderError(folder, `it has ${size} of ${wanted} bytes`);
};

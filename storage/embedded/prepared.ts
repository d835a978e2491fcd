/**
 * The prepared database: a new and empty one that an installation made, as a pack in `node_modules`. A first
 * start copies it, which takes a tenth of the time of creating one.
 *
 * A pack of another PGlite or another way of creating, and one that is damaged, are not used. All copies have
 * the same system identifier of Postgres, which nothing reads: they share no log. What names a directory is
 * written later, by the migrations and the first start.
 */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PackContents, packFolder, syncFolder, unpack } from './copy.ts';

const resolvePath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where an installation keeps it. */
export const preparedFolder = resolvePath('../../node_modules/.rollcall/prepared');
/** The program that creates databases. */
export const createProgram = resolvePath('./pglite-create-main.ts');
const packName = 'database.pack';
const manifestName = 'manifest.json';

interface Manifest {
  readonly key: string;
  readonly contents: PackContents;
}

/** Differs for each version of PGlite, and of the program that creates databases. */
const computeKey = (): string => {
  const { dependencies } = JSON.parse(readFileSync(resolvePath('../../package.json'), 'utf8'));
  return createHash('sha256')
    .update(`${dependencies['@electric-sql/pglite']}\n${readFileSync(createProgram, 'utf8')}`)
    .digest('hex');
};

/** Packs the closed database in `directory` into `folder`, which appears complete or not at all. */
export const packPrepared = (directory: string, folder = preparedFolder): void => {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const contents = packFolder(directory, join(draft, packName));
  // The server may run as another user than the installation. It has no secrets.
  chmodSync(join(draft, packName), 0o644);
  writeFileSync(
    join(draft, manifestName),
    JSON.stringify({ key: computeKey(), contents } satisfies Manifest),
  );
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
};

/**
 * Copies it to the new folder `directory`, and syncs that. Resolves to false where there is none that can be
 * used; the folder may then be left in part. Rejects when the disk is full.
 */
export const unpackPrepared = async (directory: string, folder = preparedFolder): Promise<boolean> => {
  try {
    const { key, contents } = JSON.parse(readFileSync(join(folder, manifestName), 'utf8')) as Manifest;
    if (key !== computeKey()) return false;
    await unpack(join(folder, packName), contents, directory);
    await syncFolder(directory);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
    return false;
  }
};

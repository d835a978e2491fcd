/**
 * Creates the data folder, or throws a message for the operator that says why it cannot be used.
 *
 * One step at a time: the recursive `mkdir` of Node never returns when a parent is a link to nowhere (a disk
 * that is not mounted). Never changes a folder that is there. Called by lock.ts before anything else, and
 * by ops/operator-token.ts.
 */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'that disk is read-only',
  ENOSPC: 'that disk is full',
  EEXIST: 'a part of the path is a link to nowhere (a disk that is not mounted?)',
  ENOENT: 'the folder above it cannot hold it',
  ENOTDIR: 'a part of the path is a file',
};

const createUnusableError = (directory: string, error: unknown): Error => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new Error(
    `The data folder ${directory} cannot be used: ${reasons[code] ?? message} (${code}). ` +
      'Choose a folder this user may write to with DATA_DIR.',
  );
};

/** The folders that are missing, the outermost first. */
const listMissingFolders = (directory: string): readonly string[] => {
  const missing: string[] = [];
  let folder = resolve(directory);
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && folder !== dirname(folder)) {
    missing.unshift(folder);
    folder = dirname(folder);
  }
  return missing;
};

const assertFolder = (directory: string): void => {
  if (!statSync(directory).isDirectory()) {
    throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  }
  accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
};

/** Afterwards the folder is there, and only its owner may enter it if it was made here. Throws words. */
export const makeDataFolder = (directory: string): void => {
  try {
    for (const folder of listMissingFolders(directory)) mkdirSync(folder, { mode: 0o700 });
    assertFolder(directory);
  } catch (error) {
    throw createUnusableError(directory, error);
  }
};

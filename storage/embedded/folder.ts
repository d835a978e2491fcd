/**
 * Creates the data folder, or throws a message for the operator that says why it cannot be used.
 *
 * Creates one folder at a time: Node's recursive `mkdir` never returns when a parent is a dangling link (a
 * disk that is not mounted). Never changes an existing folder. Called first of all by lock.ts, and by
 * ops/config/operator-token.ts.
 */
import { accessSync, constants, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { getErrorCode } from '../disk-room.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'that disk is read-only',
  ENOSPC: 'that disk is full',
  EDQUOT: 'the quota of this user or project is used up',
  EEXIST: 'a part of the path is a link to nowhere (a disk that is not mounted?)',
  ENOENT: 'the folder above it cannot hold it',
  ENOTDIR: 'a part of the path is a file',
};

const createUnusableError = (directory: string, error: unknown): Error => {
  const code = String(getErrorCode(error));
  const { message } = error as Error;
  return new Error(
    `The data folder ${directory} cannot be used: ${reasons[code] ?? message} (${code}). ` +
      'Choose a folder this user may write to with DATA_DIR.',
  );
};

/** Lists the folders of the path that do not exist, the outermost first. */
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

/**
 * Creates the folder and its missing parents, for their owner only. Throws an `Error` for the operator if the
 * folder cannot be used.
 */
export const makeDataFolder = (directory: string): void => {
  try {
    for (const folder of listMissingFolders(directory)) mkdirSync(folder, { mode: 0o700 });
    assertFolder(directory);
  } catch (error) {
    throw createUnusableError(directory, error);
  }
};

/** Returns the first file or folder that this user may not read and write; `null` for none. */
const findForbidden = (path: string): string | null => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    if (!statSync(path).isDirectory()) return null;
    accessSync(path, constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM' ? path : null;
  }
  for (const name of readdirSync(path)) {
    const forbidden = findForbidden(join(path, name));
    if (forbidden !== null) return forbidden;
  }
  return null;
};

/**
 * Explains why stores could not be opened: an `Error` for the operator if a file of theirs is not this user's
 * to write, else `null`. An unreadable database looks like a lost one.
 */
export const findForbiddenStore = (directory: string): Error | null => {
  const path = findForbidden(join(directory, 'hot')) ?? findForbidden(join(directory, 'postgres'));
  if (path === null) return null;
  return new Error(
    `The data folder ${directory} cannot be used: this user may not read and write ${path}. Nothing is ` +
      `lost. Run Rollcall as the user who owns it, or give all of it to this one: chown -R USER ${directory}`,
  );
};

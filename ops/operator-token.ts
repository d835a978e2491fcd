/**
 * The operator's token: a file in the data folder, made on first start, readable by its owner alone.
 *
 * Whoever can read the data folder is the operator already; the token carries that over a socket. Deleting
 * the file and starting again makes a new one. Called by the composition root and the command line.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDataFolder } from '../storage/embedded/folder.ts';

export const operatorTokenFile = 'operator-token';

/** Reads the token, making it when there is none. Throws words when the folder cannot be used. */
export const readOperatorToken = (directory: string): string => {
  const path = join(directory, operatorTokenFile);
  makeDataFolder(directory);
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
};

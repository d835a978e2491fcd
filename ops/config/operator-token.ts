/**
 * The operator's token: a file in the data folder, created on the first start, readable only by its owner.
 *
 * A user who can read the data folder is already trusted as the operator; the token proves it over a socket.
 * Delete the file and start again to get a new token.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDataFolder } from '../../storage/embedded/folder.ts';

export const operatorTokenFile = 'operator-token';

/** Reads the token; creates it if there is none. Throws with a message when the folder cannot be used. */
export const readOperatorToken = (directory: string): string => {
  const path = join(directory, operatorTokenFile);
  makeDataFolder(directory);
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const token = readFileSync(path, 'utf8').trim();
  if (token !== '') return token;
  // A full disk or a power cut leaves it empty.
  rmSync(path);
  return readOperatorToken(directory);
};

/**
 * The version of this program: from package.json, and the commit of the checkout or image it runs from.
 *
 * An image has no repository: its build writes the commit to the file COMMIT.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Version } from '../http/telemetry/metrics.ts';

const commitDigits = 12;
const projectRoot = resolve(import.meta.dirname, '..');

/**
 * Reads the version of the program in the folder `root`, and the first 12 digits of its commit: `unknown`
 * without git or a repository, and without the file COMMIT.
 */
export const readVersion = (root: string = projectRoot): Version => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const commit = readText(join(root, 'COMMIT')).trim() || readCommit(root);
  return { version, commit: /^[0-9a-f]{12,}$/.test(commit) ? commit.slice(0, commitDigits) : 'unknown' };
};

/** `0.1.0 (42335a2c0a1b)`. */
export const formatVersion = ({ version, commit }: Version): string =>
  commit === 'unknown' ? version : `${version} (${commit})`;

/** The checked-out commit; `''` without git. A repository may belong to another user than this process. */
const readCommit = (root: string): string => {
  // A folder inside another repository does not have its commit.
  if (!existsSync(join(root, '.git'))) return '';
  const words = ['-c', 'safe.directory=*', 'rev-parse', 'HEAD'];
  return spawnSync('git', words, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? '';
};

/** Returns `''` for a file that cannot be read. */
const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/**
 * The version of this program: from package.json, and the commit of the checkout or image it runs from.
 *
 * An image has no repository: its build writes the commit to the file COMMIT.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Version } from '../http/telemetry/metrics.ts';

const commitDigits = 12;
const projectRoot = resolve(import.meta.dirname, '..');

/**
 * Reads the version of the program in the folder `root`, and the first 12 digits of its commit: `unknown`
 * without a repository and without the file COMMIT.
 */
export const readVersion = (root: string = projectRoot): Version => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const commit = readText(join(root, 'COMMIT')).trim() || readCommit(join(root, '.git'));
  return { version, commit: /^[0-9a-f]{12,}$/.test(commit) ? commit.slice(0, commitDigits) : 'unknown' };
};

/** `0.1.0 (42335a2c0a1b)`. */
export const formatVersion = ({ version, commit }: Version): string =>
  commit === 'unknown' ? version : `${version} (${commit})`;

/**
 * Reads the checked-out commit from git's own files: git may be missing, and refuses a repository of another
 * user. Linked worktrees are supported.
 */
const readCommit = (place: string): string => {
  const linked = /^gitdir: (.*)$/m.exec(readText(place))?.[1];
  const folder = linked === undefined ? place : resolve(place, '..', linked);
  const head = readText(join(folder, 'HEAD')).trim();
  const reference = /^ref: (.*)$/.exec(head)?.[1];
  if (reference === undefined) return head;
  const common = resolve(folder, readText(join(folder, 'commondir')).trim() || '.');
  const loose = readText(join(common, reference)).trim();
  if (loose !== '') return loose;
  const packed = readText(join(common, 'packed-refs')).split('\n');
  return packed.find((line) => line.endsWith(` ${reference}`))?.split(' ')[0] ?? '';
};

/** Returns `''` for a file that cannot be read. */
const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/**
 * Finds the `redis-server` of tests and benches: the system's, or, on Debian as root, a package installed
 * once.
 *
 * Checks the version; `needed-program.ts` finds and installs. Never touches a running Redis. Throws a message
 * when there is none: a test that needs Redis fails without it and is never skipped.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { findFolder, findOrInstallProgram } from './needed-program.ts';

const oldestMajor = 7;
const commands = 'Debian: apt-get install redis-server; macOS: brew install redis';
const advice = `Install redis-server ${oldestMajor}.0 or later so that it is found in PATH (${commands}).`;

const findOrInstall = (): string => {
  const find = () => findFolder('redis-server', ['/usr/bin', '/usr/local/bin']);
  const folder = findOrInstallProgram({
    name: 'a Redis server',
    debianPackage: 'redis-server',
    find,
    advice,
  });
  const path = join(folder, 'redis-server');
  const output = execFileSync(path, ['--version'], { encoding: 'utf8' });
  const version = /v=(\d+)\.\S+/.exec(output);
  if (Number(version?.[1] ?? 0) < oldestMajor) throw new Error(`${path} is ${output.trim()}. ${advice}`);
  return path;
};

let found: string | undefined;

/**
 * Returns the path of a usable `redis-server`. Rejects with what to install; may take minutes the first time.
 */
export const findRedisServer = async (): Promise<string> => {
  found ??= findOrInstall();
  return found;
};

/**
 * A HAProxy of the test's own, running the shipped configuration on free ports of 127.0.0.1.
 *
 * Uses the system's program (installed on Debian as root, else it throws what to install). Ends with the
 * test.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findFolder, findOrInstallProgram } from './needed-program.ts';
import { type ProxyProgram, startProxy } from './proxy-program.ts';

const folder = join(import.meta.dirname, '../../ops/deploy/haproxy');

export type Haproxy = ProxyProgram;

const find = (): string | null => findFolder('haproxy', ['/usr/sbin', '/usr/local/sbin']);

/** The program. Throws what to install when it is missing. */
export const findHaproxy = (): string => {
  const advice =
    'Install HAProxy 2.4 or later (Debian: apt-get install haproxy; macOS: brew install haproxy).';
  return join(findOrInstallProgram({ name: 'HAProxy', debianPackage: 'haproxy', find, advice }), 'haproxy');
};

/** What `haproxy -c` says of these files; `''` when it finds nothing. */
export const checkConfiguration = (files: readonly string[], env: Record<string, string>): string => {
  const words = ['-c', ...files.flatMap((file) => ['-f', join(folder, file)])];
  const { status, stdout, stderr } = spawnSync(findHaproxy(), words, { env, encoding: 'utf8' });
  const said = `${stdout}${stderr}`;
  return status === 0 && !said.includes('WARNING') ? '' : said;
};

/** Starts it with files of ops/deploy/haproxy; resolves when `port` is open. */
export const startHaproxy = async (
  files: readonly string[],
  env: Record<string, string>,
  port: number,
): Promise<Haproxy> => {
  const words = ['-db', ...files.flatMap((file) => ['-f', join(folder, file)])];
  return startProxy([findHaproxy(), ...words], env, port);
};

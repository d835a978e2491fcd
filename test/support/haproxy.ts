/**
 * A HAProxy of the test's own, running the shipped configuration on free ports of 127.0.0.1.
 *
 * Uses the system's program (installed on Debian as root, else the test fails and says what to install).
 * Ends with the test. Called by test/deploy.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { folderOf, needProgram } from './needed-program.ts';

const folder = join(import.meta.dirname, '../../ops/deploy/haproxy');

export interface Haproxy {
  dispose(): Promise<void>;
}

const startMsMax = 60_000;

const find = (): string | null => folderOf('haproxy', ['/usr/sbin', '/usr/local/sbin']);

const program = (): string => {
  const advice =
    'Install HAProxy 2.4 or later (Debian: apt-get install haproxy; macOS: brew install haproxy).';
  return join(needProgram({ name: 'HAProxy', debianPackage: 'haproxy', find, advice }), 'haproxy');
};

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });

/** What `haproxy -c` says of these files; `''` when it finds nothing. */
export const checkConfiguration = (files: readonly string[], env: Record<string, string>): string => {
  const words = ['-c', ...files.flatMap((file) => ['-f', join(folder, file)])];
  const { status, stdout, stderr } = spawnSync(program(), words, { env, encoding: 'utf8' });
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
  const child = spawn(program(), words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said = (said + data).slice(-4_000);
  });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const endMs = performance.now() + startMsMax;
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > endMs)
      throw new Error(`HAProxy did not start:\n${said}`);
    await pause(10);
  }
  return {
    dispose: async () => {
      process.off('exit', end);
      const exited = once(child, 'exit');
      end();
      await exited;
    },
  };
};

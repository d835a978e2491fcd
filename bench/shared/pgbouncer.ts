/**
 * Starts a pgbouncer in front of a Postgres of a test: one process on a free port, with its files in a
 * temporary folder.
 *
 * It refuses to run as root, so root starts it as an unprivileged user. It ends with `close`, or with this
 * process. `POOLER=session` makes `startPostgres` hand out addresses of such a pooler, so that any test runs
 * through it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findFreePort } from './free-port.ts';
import { findFolder, findOrInstallProgram } from './needed-program.ts';
import { findUnprivilegedUser, letPass } from './unprivileged-user.ts';

const find = (): string | null => findFolder('pgbouncer', ['/usr/sbin', '/usr/local/bin']);

/** Returns the path of the program. Throws what to install when it is missing. */
export const findPgbouncer = (): string => {
  const advice = 'Install pgbouncer (Debian: apt-get install pgbouncer; macOS: brew install pgbouncer).';
  const needed = { name: 'pgbouncer', debianPackage: 'pgbouncer', find, advice };
  return join(findOrInstallProgram(needed), 'pgbouncer');
};

/** Starts it before the server on `port`, with lines such as `pool_mode = session`. */
export const startPgbouncer = async (port: number, settings: readonly string[]) => {
  const program = findPgbouncer();
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-pgbouncer-'));
  const user = findUnprivilegedUser('pgbouncer');
  for (const one of [tmpdir(), folder]) letPass(user, one);
  const own = await findFreePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = (more: readonly string[]): string =>
    [
      '[databases]',
      `* = host=127.0.0.1 port=${port} user=rollcall`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'auth_type = any',
      'max_client_conn = 1000',
      ...more,
      '',
    ].join('\n');
  writeFileSync(file, lines(settings));
  const child = spawn(program, [file], { stdio: ['ignore', 'ignore', 'pipe'], ...user });
  let output = '';
  child.stderr.on('data', (data: Buffer) => {
    output = (output + data).slice(-4_000);
  });
  const end = (): void => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', end);
  while (!(await isOpen(own))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer did not start:\n${output}`);
    await pause(10);
  }
  return {
    /** The address of a database through the pooler. */
    address: (database: string): string => `postgres://rollcall@127.0.0.1:${own}/${database}`,
    /** Reads other settings, as a running one does at SIGHUP. */
    reload: (changed: readonly string[]): void => {
      writeFileSync(file, lines(changed));
      child.kill('SIGHUP');
    },
    close: async (): Promise<void> => {
      process.off('exit', end);
      const exited = child.exitCode === null ? once(child, 'exit') : null;
      end();
      await exited;
    },
  };
};
export type Pgbouncer = Awaited<ReturnType<typeof startPgbouncer>>;

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (isListening: boolean): void => {
      socket.destroy();
      resolve(isListening);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
  });

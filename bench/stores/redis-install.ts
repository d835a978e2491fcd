/**
 * Where the `redis-server` of tests and benches comes from: the system's, or, on Debian as root, a package
 * installed once.
 *
 * Owns the look-up, the version check and the installation, which starts no service and makes nothing else
 * run. It never touches a Redis that is running. What cannot be had is an error in words: a test that needs
 * Redis fails without it and is never skipped. Called by `redis-server.ts`.
 */
import { execFile } from 'node:child_process';
import { access, constants, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const oldestMajor = 7;
const installTimeoutMs = 240_000;
const lockStaleMs = installTimeoutMs + 60_000;
const policyPath = '/usr/sbin/policy-rc.d';
const lockPath = join(tmpdir(), 'rollcall-redis-install.lock');
const commands = 'Debian: apt-get install redis-server; macOS: brew install redis';
const advice = `install redis-server ${oldestMajor}.0 or later so that it is found in PATH (${commands})`;

const findInPath = async (name: string): Promise<string | null> => {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  for (const folder of folders.filter(Boolean)) {
    const path = join(folder, name);
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path;
  }
  return null;
};

const isDebianAsRoot = async (): Promise<boolean> => {
  if (process.getuid?.() !== 0) return false;
  return access('/etc/debian_version').then(
    () => true,
    () => false,
  );
};

/** Runs `task` while no other process of this machine does. */
const withLock = async (task: () => Promise<void>): Promise<void> => {
  for (;;) {
    const lock = await open(lockPath, 'wx').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return null;
      throw error;
    });
    if (lock) {
      await lock.close();
      break;
    }
    const age = await stat(lockPath).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > lockStaleMs) await rm(lockPath, { force: true });
    await pause(200);
  }
  try {
    await task();
  } finally {
    await rm(lockPath, { force: true });
  }
};

/**
 * Keeps the package from starting its service: answers "not allowed" while we install, where nothing answers
 * yet.
 */
const withoutServices = async (task: () => Promise<void>): Promise<void> => {
  const known = await readFile(policyPath, 'utf8').catch(() => null);
  if (known !== null) {
    const { stdout } = await run('sh', ['-c', `"${policyPath}" redis-server start; echo $?`]);
    if (stdout.trim() !== '101') throw new Error(`${policyPath} would let the service start; ${advice}`);
    return task();
  }
  await writeFile(policyPath, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await task();
  } finally {
    await rm(policyPath, { force: true });
  }
};

const install = (): Promise<void> =>
  withLock(async () => {
    if (await findInPath('redis-server')) return;
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const apt = (...words: string[]) => run('apt-get', words, { env, timeout: installTimeoutMs });
    await withoutServices(async () => {
      await apt('-qq', 'update');
      await apt('-qq', 'install', '--yes', '--no-install-recommends', 'redis-server');
    });
  });

const checkVersion = async (path: string): Promise<void> => {
  const { stdout } = await run(path, ['--version']);
  const version = /v=(\d+)\.\S+/.exec(stdout);
  if (Number(version?.[1] ?? 0) >= oldestMajor) return;
  throw new Error(`${path} is ${stdout.trim()}; ${advice}`);
};

let found: Promise<string> | undefined;

const findOrInstall = async (): Promise<string> => {
  let path = await findInPath('redis-server');
  if (path === null && (await isDebianAsRoot())) {
    await install().catch((cause: Error) => {
      throw new Error(`redis-server could not be installed: ${cause.message}; ${advice}`, { cause });
    });
    path = await findInPath('redis-server');
  }
  if (path === null) throw new Error(`this needs a Redis server: ${advice}`);
  await checkVersion(path);
  return path;
};

/** Path of a usable `redis-server`. Rejects with what to install; may take minutes the first time. */
export const redisServerPath = (): Promise<string> => {
  found ??= findOrInstall();
  return found;
};

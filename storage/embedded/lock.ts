/**
 * One process per data folder: a lock file that names its owner.
 *
 * The file holds pid, start time of that pid, boot and pid namespace, and its owner touches it every 2 s. An
 * owner of the same boot and namespace is alive exactly if that pid runs with that start time, so a kill -9
 * leaves nothing in the way. Any other owner (another container, another machine on a shared disk) is taken
 * for alive while the file is fresh. Called first of all by the composition root.
 */
import {
  linkSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeDataFolder } from './folder.ts';

export interface DataLock {
  /** Gives the folder free. Idempotent. */
  release(): void;
}

/** The folder belongs to a running process, or cannot be locked; the message is for the operator. */
export class DataLocked extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DataLocked';
  }
}

interface LockOwner {
  readonly pid: number;
  /** In the system's own unit; `''` where it cannot be read. */
  readonly startedAt: string;
  readonly boot: string;
  readonly namespace: string;
  readonly host: string;
}

const touchEveryMs = 2_000;
const freshMs = 10_000;
const pollEveryMs = 250;

const readOr = (fallback: string, read: () => string): string => {
  try {
    return read().trim();
  } catch {
    return fallback;
  }
};

/** Field 22 of Linux' stat line: ticks since boot. The name in field 2 may hold spaces. */
const readStartTime = (pid: number): string =>
  readOr('', () => {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return line.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  });

/** Names this run of the operating system; `''` where the system does not tell. */
export const readBootId = (): string =>
  readOr('', () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));

const describeSelf = (): LockOwner => ({
  pid: process.pid,
  startedAt: readStartTime(process.pid),
  boot: readBootId(),
  namespace: readOr('', () => readlinkSync('/proc/self/ns/pid')),
  host: hostname(),
});

const readOwner = (path: string): LockOwner | null => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LockOwner;
  } catch {
    return null;
  }
};

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

const readAgeMs = (path: string): number => {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
};

/** `null` when only time can tell: the owner's pids mean nothing here. */
const isAlive = (owner: LockOwner): boolean | null => {
  const me = describeSelf();
  if (owner.host === me.host && owner.boot !== me.boot) return false;
  if (owner.host !== me.host || owner.namespace !== me.namespace) return null;
  return isRunning(owner.pid) && readStartTime(owner.pid) === owner.startedAt;
};

const createLockedError = (directory: string, path: string, owner: LockOwner | null): DataLocked => {
  const who = owner ? `process ${owner.pid} on ${owner.host}` : 'another process';
  return new DataLocked(
    `The data folder ${directory} is in use by ${who}. Two processes on one folder would destroy it. ` +
      `Stop that process, or give this one another folder with DATA_DIR. If you are sure that no such ` +
      `process runs, delete ${path} and start again.`,
  );
};

/** Whether the lock may be taken over. Waits out a freshness that only time can refute. */
const isStale = async (path: string, owner: LockOwner | null): Promise<boolean> => {
  const alive = owner ? isAlive(owner) : null;
  if (alive !== null) return !alive;
  const first = findModifiedMs(path);
  while (readAgeMs(path) <= freshMs) {
    await sleep(pollEveryMs);
    if (findModifiedMs(path) !== first) return false;
  }
  return true;
};

const findModifiedMs = (path: string): number | null => {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return null;
  }
};

/** Moves a stale lock away. False when somebody else had taken it over in the meantime. */
const moveAway = (path: string, stale: LockOwner | null, aside: string): boolean => {
  try {
    renameSync(path, aside);
  } catch {
    return true;
  }
  const moved = readOwner(aside);
  const same = JSON.stringify(moved) === JSON.stringify(stale);
  if (!same) linkSync(aside, path);
  rmSync(aside, { force: true });
  return same;
};

const keep = (path: string, mine: string): DataLock => {
  const timer = setInterval(() => {
    const now = new Date();
    if (readOr('', () => readFileSync(path, 'utf8')) === mine) utimesSync(path, now, now);
  }, touchEveryMs);
  timer.unref();
  return {
    release() {
      clearInterval(timer);
      if (readOr('', () => readFileSync(path, 'utf8')) === mine) rmSync(path, { force: true });
    },
  };
};

/**
 * Locks the folder for this process, making it when there is none. Rejects with `DataLocked` when it is in
 * use; decides at once for owners on this machine, within 10 s for others.
 */
export const lockDataDirectory = async (directory: string): Promise<DataLock> => {
  makeDataFolder(directory);
  const path = join(directory, 'lock');
  const draft = join(directory, `lock.${process.pid}.${process.hrtime.bigint()}`);
  const mine = JSON.stringify(describeSelf());
  writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (tryLink(draft, path)) return keep(path, mine);
      const owner = readOwner(path);
      if (!(await isStale(path, owner))) throw createLockedError(directory, path, owner);
      if (!moveAway(path, owner, `${draft}.stale`)) throw createLockedError(directory, path, readOwner(path));
    }
    throw createLockedError(directory, path, readOwner(path));
  } finally {
    rmSync(draft, { force: true });
  }
};

/** Linking a finished file is atomic: the lock is never seen half written. */
const tryLink = (draft: string, path: string): boolean => {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
};

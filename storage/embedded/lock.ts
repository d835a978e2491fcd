/**
 * Locks the data folder for one process, with a lock file that names its owner.
 *
 * The file holds the owner's pid, start time, boot and pid namespace; the owner touches it every 2 s. An
 * owner of this boot and namespace is alive exactly if its pid runs with that start time, so the lock of a
 * killed process does not block the next one. Any other owner (another container, another machine on a shared
 * disk) counts as alive while the file is fresh. Called first by storage/open.ts and backup/embedded.ts.
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
  /** Unlocks the folder. Idempotent. */
  release(): void;
}

/** Another process uses the folder, or it cannot be locked; the message is for the operator. */
export class DataLocked extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DataLocked';
  }
}

interface LockOwner {
  readonly pid: number;
  /** In the unit of the system (Linux: ticks since boot); `''` where it cannot be read. */
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

/** Field 22 of Linux' `/proc/<pid>/stat`: ticks since boot. The name in field 2 may contain spaces. */
const readStartTime = (pid: number): string =>
  readOr('', () => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  });

/** The id of this run of the operating system; `''` where the system has none. */
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

/** The content of this process' lock file. Two processes never have the same. */
export const describeOwner = (): string => JSON.stringify(describeSelf());

/** The content of the lock file of a folder, `''` if there is none. */
export const readLockOwner = (directory: string): string =>
  readOr('', () => readFileSync(join(directory, 'lock'), 'utf8'));

/** Whether the owner runs; `null` if unknown, because its pid belongs to another host or namespace. */
const isAlive = (owner: LockOwner): boolean | null => {
  const me = describeSelf();
  if (owner.host === me.host && owner.boot !== me.boot) return false;
  if (owner.host !== me.host || owner.namespace !== me.namespace) return null;
  return isRunning(owner.pid) && readStartTime(owner.pid) === owner.startedAt;
};

const createLockedError = (directory: string, path: string, owner: LockOwner | null): DataLocked => {
  const ownerName = owner ? `process ${owner.pid} on ${owner.host}` : 'another process';
  return new DataLocked(
    `The data folder ${directory} is in use by ${ownerName}. Two processes on one folder would destroy it. ` +
      `Stop that process, or give this one another folder with DATA_DIR. If you are sure that no such ` +
      `process runs, delete ${path} and start again.`,
  );
};

/** Whether the lock may be taken over. For an unknown owner it waits to see if the file is touched. */
const isStale = async (path: string, owner: LockOwner | null): Promise<boolean> => {
  const alive = owner ? isAlive(owner) : null;
  if (alive !== null) return !alive;
  const modifiedMs = findModifiedMs(path);
  while (readAgeMs(path) <= freshMs) {
    await sleep(pollEveryMs);
    if (findModifiedMs(path) !== modifiedMs) return false;
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

/** Removes a stale lock. Returns false, and puts the lock back, if another process took it over first. */
const moveAway = (path: string, stale: LockOwner | null, aside: string): boolean => {
  try {
    renameSync(path, aside);
  } catch {
    return true;
  }
  const moved = readOwner(aside);
  const isSame = JSON.stringify(moved) === JSON.stringify(stale);
  if (!isSame) linkSync(aside, path);
  rmSync(aside, { force: true });
  return isSame;
};

/** Touches the lock file on a timer while its content is `ownText`. */
const maintainLock = (path: string, ownText: string): DataLock => {
  const timer = setInterval(() => {
    const now = new Date();
    if (readOr('', () => readFileSync(path, 'utf8')) === ownText) utimesSync(path, now, now);
  }, touchEveryMs);
  timer.unref();
  return {
    release() {
      clearInterval(timer);
      if (readOr('', () => readFileSync(path, 'utf8')) === ownText) rmSync(path, { force: true });
    },
  };
};

/**
 * Locks the folder for this process, and creates it if missing. Rejects with `DataLocked` if another process
 * uses it: at once for an owner on this machine, within 10 s for others.
 */
export const lockDataDirectory = async (directory: string): Promise<DataLock> => {
  makeDataFolder(directory);
  const path = join(directory, 'lock');
  const draft = join(directory, `lock.${process.pid}.${process.hrtime.bigint()}`);
  const ownText = describeOwner();
  writeFileSync(draft, ownText, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (tryLink(draft, path)) return maintainLock(path, ownText);
      const owner = readOwner(path);
      if (!(await isStale(path, owner))) throw createLockedError(directory, path, owner);
      if (!moveAway(path, owner, `${draft}.stale`)) throw createLockedError(directory, path, readOwner(path));
    }
    throw createLockedError(directory, path, readOwner(path));
  } finally {
    rmSync(draft, { force: true });
  }
};

/** Links the finished draft as the lock, which is atomic. False if a lock exists. */
const tryLink = (draft: string, path: string): boolean => {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
};

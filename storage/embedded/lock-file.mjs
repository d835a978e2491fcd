/**
 * A lock file that names its owner. Plain JavaScript, because the installer runs before anything is there.
 *
 * The file holds the owner's pid, start time, boot and pid namespace; the owner touches it every 2 s. An
 * owner of this boot and namespace is alive exactly if its pid runs with that start time, so the lock of a
 * killed process does not block the next one. Any other owner (another container, another machine on a shared
 * disk) counts as alive while the file is fresh: after a pause of 10 s it may find that it has lost its lock.
 */
import {
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const touchEveryMs = 2_000;
const freshMs = 10_000;
const pollEveryMs = 250;
const attemptsMax = 3;

const readOr = (fallback, read) => {
  try {
    return read();
  } catch {
    return fallback;
  }
};

/** The content of the file, `''` if there is none. */
export const readText = (path) => readOr('', () => readFileSync(path, 'utf8').trim());

/** Linux' `/proc/<pid>/stat` from field 3 on. The name in field 2 may contain spaces. */
const readStat = (pid) => {
  const stat = readOr('', () => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
};

/** Field 22: ticks since boot. */
const readStartTime = (pid) => readStat(pid)[19] ?? '';

/** Whether it is a zombie: ended, and its parent has not collected its status, which may stay so for long. */
const hasEnded = (pid) => readStat(pid)[0] === 'Z';

const hasThreads = (pid) => readOr([], () => readdirSync(`/proc/${pid}/task`)).length > 1;

export const readBootId = () => readText('/proc/sys/kernel/random/boot_id');

const describeSelf = () => ({
  pid: process.pid,
  startedAt: readStartTime(process.pid),
  boot: readBootId(),
  namespace: readOr('', () => readlinkSync('/proc/self/ns/pid')),
  host: hostname(),
});

export const describeOwner = () => JSON.stringify(describeSelf());

export const readOwner = (path) => readOr(null, () => JSON.parse(readFileSync(path, 'utf8')));

const isRunning = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Waits for the other threads of a process, which may write until they end. False if they do not. */
const waitForThreads = async (pid) => {
  const endMs = Date.now() + freshMs;
  while (hasEnded(pid) && hasThreads(pid)) {
    if (Date.now() > endMs) return false;
    await sleep(pollEveryMs);
  }
  return true;
};

/** Whether the owner runs; `null` if unknown, because its pid belongs to another host or namespace. */
const isAlive = (owner) => {
  const me = describeSelf();
  if (owner.host === me.host && owner.boot !== me.boot) return false;
  if (owner.host !== me.host || owner.namespace !== me.namespace) return null;
  return isRunning(owner.pid) && readStartTime(owner.pid) === owner.startedAt && !hasEnded(owner.pid);
};

const findModifiedMs = (path) => readOr(null, () => statSync(path).mtimeMs);

/** Whether the lock may be taken over. For an unknown owner it waits to see if the file is touched. */
const isStale = async (path, owner) => {
  const alive = owner === null ? null : isAlive(owner);
  if (alive !== null) return !alive && (await waitForThreads(owner.pid));
  const modifiedMs = findModifiedMs(path);
  while (Date.now() - (findModifiedMs(path) ?? 0) <= freshMs) {
    await sleep(pollEveryMs);
    if (findModifiedMs(path) !== modifiedMs) return false;
  }
  return true;
};

/** Removes a stale lock. Returns false, and puts the lock back, if another process took it over first. */
const moveAway = (path, stale, aside) => {
  try {
    renameSync(path, aside);
  } catch {
    return true;
  }
  const isSame = JSON.stringify(readOwner(aside)) === JSON.stringify(stale);
  if (!isSame) linkSync(aside, path);
  rmSync(aside, { force: true });
  return isSame;
};

/** Touches the file, and writes it again if it was deleted. Returns whether this process still owns it. */
const renewLock = (path, ownText) => {
  try {
    if (readFileSync(path, 'utf8').trim() !== ownText) return false;
    const now = new Date();
    utimesSync(path, now, now);
  } catch (error) {
    if (error.code !== 'ENOENT') return true;
    try {
      writeFileSync(path, ownText, { flag: 'wx', mode: 0o600 });
    } catch (failure) {
      // The folder is gone. After any other failure, such as a full disk, the next turn tries again.
      return failure.code !== 'ENOENT';
    }
  }
  return true;
};

const maintainLock = (path, ownText, onLost) => {
  const timer = setInterval(() => {
    if (renewLock(path, ownText)) return;
    clearInterval(timer);
    onLost();
  }, touchEveryMs);
  timer.unref();
  return {
    release() {
      clearInterval(timer);
      if (readText(path) === ownText) rmSync(path, { force: true });
    },
  };
};

export const takeLock = async (path, onLost = () => {}) => {
  const draft = `${path}.${process.pid}.${process.hrtime.bigint()}`;
  const ownText = describeOwner();
  writeFileSync(draft, ownText, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (tryLink(draft, path)) return maintainLock(path, ownText, onLost);
      const owner = readOwner(path);
      if (!(await isStale(path, owner)) || !moveAway(path, owner, `${draft}.stale`)) return null;
    }
    return null;
  } finally {
    rmSync(draft, { force: true });
  }
};

/** Links the finished draft as the lock, which is atomic. False if a lock exists. */
const tryLink = (draft, path) => {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
};

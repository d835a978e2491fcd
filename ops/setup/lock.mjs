/**
 * A lock file, so that only one process installs at a time. The holder touches the file every second; a file
 * that was not touched for ten seconds is left from a crash and is removed. Used by install.mjs.
 */
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';

const touchMs = 1_000;
const staleMs = 10_000;
const pollMs = 250;

/** Waits for the lock at `path`, runs `task` and releases the lock. Resolves to the result of `task`. */
export const withLock = async (path, task) => {
  let isReported = false;
  while (!acquire(path)) {
    if (!isReported) console.error('Another process is installing the libraries. Waiting for it to finish.');
    isReported = true;
    removeStale(path);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  const touching = setInterval(() => touch(path), touchMs);
  try {
    return await task();
  } finally {
    clearInterval(touching);
    rmSync(path, { force: true });
  }
};

const acquire = (path) => {
  try {
    const file = openSync(path, 'wx');
    writeSync(file, `${process.pid} ${process.hrtime.bigint()}`);
    closeSync(file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
};

const touch = (path) => {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch (error) {
    // node_modules was deleted meanwhile: npm reports that better.
    if (error.code !== 'ENOENT') throw error;
  }
};

const removeStale = (path) => {
  try {
    const content = readFileSync(path, 'utf8');
    if (Date.now() - statSync(path).mtimeMs < staleMs) return;
    // Renamed before the second look, so that only one of several waiters gets it. A new lock is put back.
    const aside = `${path}.${process.pid}`;
    renameSync(path, aside);
    if (readFileSync(aside, 'utf8') === content) rmSync(aside);
    else renameSync(aside, path);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
};

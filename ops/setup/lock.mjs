/**
 * Keeps two starts from installing at the same time. The lock is a file that its holder touches every second;
 * one that was not touched for ten is left over from a crash and is taken away.
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

/** Runs `work` while holding the lock at `path`; waits for other holders first. */
export const withLock = async (path, work) => {
  let told = false;
  while (!take(path)) {
    if (!told) console.error('Another start is installing the libraries already; waiting for it.');
    told = true;
    removeStale(path);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  const touching = setInterval(() => touch(path), touchMs);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    rmSync(path, { force: true });
  }
};

const take = (path) => {
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
    // Somebody deleted node_modules under us: npm will say so in better words.
    if (error.code !== 'ENOENT') throw error;
  }
};

const removeStale = (path) => {
  try {
    const seen = readFileSync(path, 'utf8');
    if (Date.now() - statSync(path).mtimeMs < staleMs) return;
    // Moved aside before it is judged again: of several waiters only one gets it, and a fresh lock is put
    // back.
    const aside = `${path}.${process.pid}`;
    renameSync(path, aside);
    if (readFileSync(aside, 'utf8') === seen) rmSync(aside);
    else renameSync(aside, path);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
};

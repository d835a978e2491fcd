/**
 * Detects that the npm that started this process has ended, so that `npm start` and the server end together.
 *
 * npm starts a script through a shell and sends signals only to that shell, which then dies; npm may also be
 * killed. The processes below get no signal, so this one polls its parents. Without npm nothing is watched: a
 * process started in the background may outlive its parent.
 */
import { readFileSync } from 'node:fs';

const pollMs = 250;
const shellNames = /^(ba|da|a|k|z)?sh$|^busybox$/;

/** Returns the name and the parent of a process; `null` when it has ended, or without /proc. */
const readProcess = (pid) => {
  try {
    const match = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return match && { name: match[1], parent: Number(match[2]) };
  } catch {
    return null;
  }
};

// Read while this module loads: an installation may run before the watch begins, and npm may end meanwhile.
const parent = process.ppid;
const shell = readProcess(parent);
// A shell that runs a single command often replaces itself by it; then npm itself is the parent.
const npm = shell !== null && shellNames.test(shell.name) ? shell.parent : null;

const isGone = () => process.ppid !== parent || (npm !== null && readProcess(parent)?.parent !== npm);

/** Calls `onGone` once, when npm or its shell has ended. Returns a function that stops the watch. */
export const watchNpm = (onGone) => {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const timer = setInterval(() => {
    if (!isGone()) return;
    clearInterval(timer);
    onGone();
  }, pollMs);
  return () => clearInterval(timer);
};

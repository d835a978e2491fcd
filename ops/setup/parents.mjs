/**
 * Notices that the npm which started us is gone: `npm start` and the server are one thing to who runs it.
 *
 * npm starts a script through a shell and passes a signal to that shell alone, which dies of it; and npm may
 * be killed itself. No signal tells the processes below, so they look. Without npm nothing is watched: what
 * was started in the background may outlive the process that started it.
 */
import { readFileSync } from 'node:fs';

const lookEveryMs = 250;
const shellNames = /^(ba|da|a|k|z)?sh$|^busybox$/;

/** Name and parent of a process. `null` when it is gone, or where there is no /proc. */
const lookAt = (pid) => {
  try {
    const found = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return found && { name: found[1], parent: Number(found[2]) };
  } catch {
    return null;
  }
};

// Now, and not when the watch begins: an installation may lie between.
const parent = process.ppid;
const shell = lookAt(parent);
// A shell that runs one command often becomes that command; then npm itself is the parent.
const npm = shell !== null && shellNames.test(shell.name) ? shell.parent : null;

const isGone = () => process.ppid !== parent || (npm !== null && lookAt(parent)?.parent !== npm);

/** Calls `onGone` once, when npm or its shell has ended. Returns what stops the watch. */
export const watchNpm = (onGone) => {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const timer = setInterval(() => {
    if (!isGone()) return;
    clearInterval(timer);
    onGone();
  }, lookEveryMs);
  return () => clearInterval(timer);
};

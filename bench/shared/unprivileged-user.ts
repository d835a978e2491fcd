/**
 * Finds a user for servers that refuse to run as root, and lets them pass to what they need.
 */
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

/** The user `postgres`, else `nobody`; `null` when this process is not root's. */
export const findUnprivilegedUser = (program: string): ProcessUser | null => {
  if (process.getuid?.() !== 0) return null;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error(`${program} refuses to run as root, and there is no user postgres or nobody to run it as.`);
};

/** Opens a folder of ours for the user to pass through. Throws what to do when one above it is closed. */
export const letPass = (user: ProcessUser | null, folder: string): void => {
  if (user === null) return;
  chmodSync(folder, statSync(folder).mode | 0o011);
  assertPassable(user, folder, 'Set TMPDIR to a folder that all users may pass, such as /tmp');
};

/** Throws with this advice when the user may not pass all folders above `path`. */
export const assertPassable = (user: ProcessUser | null, path: string, advice: string): void => {
  if (user === null || path === dirname(path)) return;
  const folder = dirname(path);
  const { mode, uid, gid } = statSync(folder);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0)
    throw new Error(`User ${user.uid}, as whom root runs servers, may not pass ${folder}. ${advice}.`);
  assertPassable(user, folder, advice);
};

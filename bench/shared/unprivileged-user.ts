/**
 * Finds a user for servers that refuse to run as root.
 */
import { readFileSync } from 'node:fs';

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

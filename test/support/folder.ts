/**
 * Temporary folders of a test, removed when its process ends.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/** Makes an empty folder below the system's temporary one. */
export const makeFolder = (prefix: string): string => {
  if (made.length === 0) {
    process.once('exit', () => {
      for (const folder of made) rmSync(folder, { recursive: true, force: true });
    });
  }
  const folder = mkdtempSync(join(tmpdir(), prefix));
  made.push(folder);
  return folder;
};

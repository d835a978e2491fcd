/**
 * Temporary folders of a test. The runner removes them with the whole temporary folder that it gives each
 * test file; a file that is started without it removes them as its process ends.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { markVariable } from '../runner/processes.ts';

const made: string[] = [];

/** Makes an empty folder below the system's temporary one. */
export const makeFolder = (prefix: string): string => {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  if (made.length === 0 && process.env[markVariable] === undefined) {
    process.once('exit', () => {
      for (const one of made) rmSync(one, { recursive: true, force: true });
    });
  }
  made.push(folder);
  return folder;
};

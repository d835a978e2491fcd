/**
 * One data folder per test file, and fresh copies of it: making a folder takes seconds, copying it none.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyDataFolder, makeDataFolder, type Sizes } from './directory.ts';

export interface Template {
  /** A private folder for anything else that a test needs. */
  readonly parent: string;
  /** A data folder as it was made, for one test. */
  copy(): string;
  remove(): void;
}

/** Makes the folder, below the system's temporary one. */
export const makeTemplate = async (sizes: Sizes): Promise<Template> => {
  const parent = mkdtempSync(join(tmpdir(), 'rollcall-faults-'));
  const made = join(parent, 'made');
  await makeDataFolder(made, sizes);
  let copies = 0;
  return {
    parent,
    copy: () => copyDataFolder(made, join(parent, `copy-${++copies}`)),
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
};

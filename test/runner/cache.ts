/**
 * A folder for what the test files of one run share, below the system's temporary folder.
 *
 * Named in the environment of every test file by `sharedVariable`; removed when the runner ends, however it
 * ends short of SIGKILL. Holds only what any file could make again for itself. Called by the runners.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedVariable } from '../../bench/shared/shared-folder.ts';

/** Makes the folder and tells it to the files started from now on. */
export const shareCache = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-cache-'));
  process.env[sharedVariable] = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
};

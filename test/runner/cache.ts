/**
 * The cache folder that the test files of one run share, below the system's temporary folder.
 *
 * Named in the environment of every test file by `sharedVariable`; removed when the runner ends, however it
 * ends short of SIGKILL. Contains only what any test file can rebuild. Called by the runners.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedVariable } from '../../bench/shared/shared-folder.ts';

/** Creates the folder and passes it to the test files started from now on. */
export const shareCache = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-cache-'));
  process.env[sharedVariable] = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
};

/**
 * The node on a hot store of its own kind (limited-main.ts): with a size limit, or with frequent checkpoints.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const limitedProgram = fileURLToPath(new URL('./limited-main.ts', import.meta.url));

/** Checkpoints of the hot store all the time. */
export const oftenSettings = { HOT_CHECKPOINT_BYTES: String(2 ** 16) };

/** Gives the store of that program to the usual one. */
export const adoptLimited = (dataDir: string): void => {
  const limited = join(dataDir, 'hot-limited');
  rmSync(join(dataDir, 'hot'), { recursive: true, force: true });
  if (existsSync(limited)) renameSync(limited, join(dataDir, 'hot'));
};

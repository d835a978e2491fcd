/**
 * The time until a small write is on the disk: acknowledged writes of a store that syncs wait so long.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const syncs = 101;

/** Median in milliseconds, in the folder where the stores are. Blocks while it measures. */
export const measureSyncMs = (): number => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-sync-'));
  const file = openSync(join(folder, 'file'), 'a');
  const times = Array.from({ length: syncs }, () => {
    const begunMs = performance.now();
    writeSync(file, Buffer.alloc(500));
    fdatasyncSync(file);
    return performance.now() - begunMs;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return times.sort((a, b) => a - b)[Math.floor(syncs / 2)] ?? 0;
};

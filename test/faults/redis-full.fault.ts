/**
 * Redis on a full disk, with each way to sync. Needs the right to mount. Time limit: 900 s.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printFigures } from './figures.ts';
import { canMount } from './full.ts';
import { seed } from './plans.ts';
import { type FullFigures, type FullPlan, runRedisFull } from './redis-full.ts';

const test = suite('redis on a full disk');
const rounds = 5;

/** `null`, and said so, where this system lets us mount no disk. */
const onSmallDisk = async (run: (plan: FullPlan) => Promise<FullFigures>): Promise<FullFigures | null> => {
  const disk = mkdtempSync(join(tmpdir(), 'rollcall-redis-disk-'));
  try {
    if (canMount(disk)) return await run({ seed, rounds, disk });
    console.log('\nfigures: Redis on a full disk | left out: no right to mount a small disk');
    return null;
  } finally {
    rmSync(disk, { recursive: true, force: true });
  }
};

test('always: it ends until there is room, nothing is lost or doubled, and all goes on', async () => {
  const figures = await onSmallDisk((plan) => runRedisFull(plan, 'always'));
  if (figures === null) return;
  printFigures(`Redis on a full disk, always (seed ${seed})`, figures);
  assert.ok(figures.ended >= rounds, 'it ended each time');
});

test('everysec: it refuses until there is room, nothing is lost or doubled, and all goes on', async () => {
  const figures = await onSmallDisk((plan) => runRedisFull(plan, 'everysec'));
  if (figures !== null) printFigures(`Redis on a full disk, everysec (seed ${seed})`, figures);
});

test.run();

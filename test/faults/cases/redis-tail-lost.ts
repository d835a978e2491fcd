/**
 * A Redis that returns without its newest part. Called by redis-tail-lost.fault.ts.
 */
import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { ServersWorld as World } from '../harness/on-servers.ts';
import { type AwayFigures, duringEach, onRedis, repeat } from './redis-away.ts';

/** How much of the newest is lost. */
const lostMs = 1_000;

/**
 * `everysec`: killed, and what it appended in the last second is cut off. The nodes resend all of it;
 * where a user has voted again first, one of the two votes counts, and the figures say how often.
 */
export const runTailLost = async (times: number, seed: number): Promise<AwayFigures> => {
  const settings = ['appendfsync everysec'];
  const figures = await onRedis({ seed, rounds: times, losesTail: true, settings }, (world) =>
    duringEach(
      world.stack,
      repeat(times, () => loseTail(world)),
    ),
  );
  assert.ok(Number(figures.resent) > 0, 'nothing was lost');
  return figures;
};

const loseTail = async (world: World): Promise<void> => {
  const before = await tailOf(world);
  await sleep(lostMs);
  await world.redis.kill();
  const after = await tailOf(world);
  // Else the file was rewritten meanwhile, and what it had is in another one.
  if (before.path === after.path) await truncate(after.path, before.bytes);
  await world.redis.start();
};

/** The newest of the files that Redis appends to, and its length. */
const tailOf = async ({ redis }: World): Promise<{ path: string; bytes: number }> => {
  const folder = join(redis.folder, 'appendonlydir');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).sort();
  const path = join(folder, names.at(-1) as string);
  return { path, bytes: (await stat(path)).size };
};

/**
 * Redis on a full disk. With `appendfsync always` it cannot take back what it answered, and so ends by
 * itself at the first write that fails, again after every start, until there is room; with `everysec` it
 * stays and refuses (MISCONF). Either way nothing acknowledged is lost, and it goes on by itself.
 *
 * The disk is a small one of the test's own. Time limit: 900 s.
 */

import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { ServersWorld as World } from '../harness/on-servers.ts';
import { fillDisk, onSmallDisk } from '../harness/small-disk.ts';
import { untilRefuses } from '../harness/waits.ts';
import { type AwayFigures, duringEach, onRedis, repeat } from './redis-away.ts';

const test = suite('redis on a full disk');

const diskBytes = 64 * 2 ** 20;
/** How long the disk stays full. */
const fullMs = 5_000;
/** As a supervisor's pause before it starts what has ended. */
const restartMs = 500;

interface FullFigures extends AwayFigures {
  /** How often Redis ended by itself. */
  readonly ended: number;
}

/** Full again and again, each time for some seconds. */
const runRedisFull = (
  seed: number,
  rounds: number,
  fsync: 'always' | 'everysec',
): Promise<FullFigures | null> =>
  onSmallDisk(`Redis on a full disk, ${fsync}`, diskBytes, async (disk) => {
    let ended = 0;
    const settings = [`dir ${disk}`, `appendfsync ${fsync}`];
    const once = async (world: World): Promise<void> => {
      ended += fsync === 'always' ? await endsWhileFull(world, disk) : await refusesWhileFull(world, disk);
    };
    const figures = await onRedis({ seed, rounds, settings }, (world) =>
      duringEach(
        world.stack,
        repeat(rounds, () => once(world)),
      ),
    );
    return { ...figures, ended };
  });

/** It ends at every write; a supervisor starts it again and again. */
const endsWhileFull = async (world: World, disk: string): Promise<number> => {
  const { redis, stack } = world;
  const ballast = fillDisk(disk);
  let ended = 0;
  try {
    const endMs = performance.now() + fullMs;
    while (performance.now() < endMs) {
      await until('Redis has ended by itself', async () => hasEnded(redis.pid()));
      ended += 1;
      await Promise.all(
        stack.alive().map((life) => untilRefuses(stack, life, /"outcome":"(unknown|not_applied)"/)),
      );
      await redis.kill();
      await sleep(restartMs);
      // It may end before it answers this test.
      await redis.start().catch(() => undefined);
    }
  } finally {
    rmSync(ballast);
    await redis.kill();
    await redis.start();
  }
  return ended;
};

/** It stays and says MISCONF to every write. */
const refusesWhileFull = async (world: World, disk: string): Promise<number> => {
  const ballast = fillDisk(disk);
  try {
    for (const life of world.stack.alive()) await untilRefuses(world.stack, life);
    await sleep(fullMs);
    for (const life of world.stack.alive()) await untilRefuses(world.stack, life);
    assert.not(hasEnded(world.redis.pid()), 'Redis stays');
  } finally {
    rmSync(ballast);
  }
  return 0;
};

const hasEnded = (pid: number): boolean => {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Gone, and its guardian has looked.
    return true;
  }
};

faultCase(test, {
  title: 'always: it ends until there is room, nothing is lost or doubled, and all goes on',
  name: 'Redis on a full disk, always',
  counts: { faults: 2 },
  run: async ({ seed, count }) => {
    const figures = await runRedisFull(seed, count, 'always');
    assert.ok(figures === null || figures.ended >= count, 'it ended each time');
    return figures;
  },
});

faultCase(test, {
  title: 'everysec: it refuses until there is room, nothing is lost or doubled, and all goes on',
  name: 'Redis on a full disk, everysec',
  counts: { faults: 2 },
  run: ({ seed, count }) => runRedisFull(seed, count, 'everysec'),
});

test.run();

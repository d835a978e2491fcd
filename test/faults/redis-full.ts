/**
 * Redis on a full disk. With `appendfsync always` it cannot take back what it told its clients and so ends by
 * itself at the first write that fails, again after every start, until there is room; with `everysec` it
 * stays and refuses (MISCONF). Either way nothing acknowledged is lost, and it goes on by itself.
 *
 * The disk is a small one of the test's own. Called by redis-full.fault.ts.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type AwayFigures, duringFault, onRedis, underLoad, type World } from './redis-away.ts';
import { type Life, probe, until } from './stack.ts';

const diskBytes = 64 * 2 ** 20;
/** How long the disk stays full. */
const fullMs = 5_000;
/** As a supervisor's pause before it starts what has ended. */
const restartMs = 500;

export interface FullPlan {
  readonly seed: number;
  readonly rounds: number;
  /** An empty folder, to mount the disk on. */
  readonly disk: string;
}

export interface FullFigures extends AwayFigures {
  /** How often Redis ended by itself. */
  readonly ended: number;
}

const onDisk = async <Result>(disk: string, task: () => Promise<Result>): Promise<Result> => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=755`, 'rollcall-redis', disk]);
  try {
    return await task();
  } finally {
    execFileSync('umount', ['-l', disk]);
  }
};

/** Full again and again, each time until some seconds of it are over. */
export const runRedisFull = (
  { seed, rounds, disk }: FullPlan,
  fsync: 'always' | 'everysec',
): Promise<FullFigures> =>
  onDisk(disk, async () => {
    let ended = 0;
    const settings = [`dir ${disk}`, `appendfsync ${fsync}`];
    const once = async (world: World): Promise<void> => {
      ended += fsync === 'always' ? await endsWhileFull(world, disk) : await refusesWhileFull(world, disk);
    };
    const figures = await onRedis({ seed, rounds, settings }, (world) =>
      underLoad(world.stack, async () => {
        let silenceMax = 0;
        for (let round = 0; round < rounds; round++)
          silenceMax = Math.max(silenceMax, await duringFault(world.stack, () => once(world)));
        return silenceMax;
      }),
    );
    return { ...figures, ended };
  });

/** Takes all the room there is, to the last page, against whoever else writes. */
const fill = (ballast: string): void => {
  for (let bytes = 64 * 2 ** 10; bytes >= 512; ) {
    try {
      appendFileSync(ballast, Buffer.alloc(bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      bytes /= 2;
    }
  }
};

/** It ends at every write; whoever minds it starts it again and again. */
const endsWhileFull = async (world: World, disk: string): Promise<number> => {
  const { server, stack } = world;
  const ballast = join(disk, 'ballast');
  let ended = 0;
  fill(ballast);
  try {
    const endMs = performance.now() + fullMs;
    while (performance.now() < endMs) {
      await until('Redis has ended by itself', async () => hasEnded(server.pid()));
      ended += 1;
      await Promise.all(
        stack.alive().map((life) => refuses(world, life, /"outcome":"(unknown|not_applied)"/)),
      );
      await server.kill();
      await sleep(restartMs);
      // It may end before it has answered anybody but the nodes.
      await server.start().catch(() => undefined);
    }
  } finally {
    rmSync(ballast);
    await server.kill();
    await server.start();
  }
  return ended;
};

/** It stays and says MISCONF to every write. */
const refusesWhileFull = async (world: World, disk: string): Promise<number> => {
  const ballast = join(disk, 'ballast');
  fill(ballast);
  try {
    for (const life of world.stack.alive()) await refuses(world, life, /"outcome":"not_applied"/);
    await sleep(fullMs);
    for (const life of world.stack.alive()) await refuses(world, life, /"outcome":"not_applied"/);
    assert.not(hasEnded(world.server.pid()), 'Redis stays');
  } finally {
    rmSync(ballast);
  }
  return 0;
};

/** A change is answered 503, with the outcome and when to come again. */
const refuses = ({ stack }: World, life: Life, outcome: RegExp): Promise<void> =>
  until('a node answers 503', async () => {
    const { status, text, headers } = await probe(stack, life);
    assert.is(status, 503, text);
    assert.match(text, outcome);
    assert.ok(Number(headers['retry-after']) >= 1, 'says when to come again');
    return true;
  });

const hasEnded = (pid: number): boolean => {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Gone, and its guardian has looked.
    return true;
  }
};

/**
 * What a Redis does to its nodes when it comes back slowly, or without its newest part.
 *
 * Each needs a server of its own kind, so each is a run of its own. Called by redis-disk.fault.ts.
 */
import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as assert from 'uvu/assert';
import { nowMs } from './client-log.ts';
import { type AwayFigures, duringFault, onRedis, refusedBy, underLoad, type World } from './redis-away.ts';
import { until } from './stack.ts';

/** Commands that have nothing to do with us, and take their time when the server starts. */
const fillers = 15_000;
const loadingSettings = ['key-load-delay 300', 'loading-process-events-interval-bytes 1024'];

export interface LoadingFigures extends AwayFigures {
  /** From its start until it answered. */
  readonly loadingSecondsMax: number;
}

/** Killed, and some seconds of LOADING at its start: nothing is counted, and it goes on by itself. */
export const runLoading = async (times: number, seed: number): Promise<LoadingFigures> => {
  let longestMs = 0;
  const once = async (world: World): Promise<void> => {
    longestMs = Math.max(longestMs, await loadingOnce(world));
  };
  const figures = await onRedis({ seed, rounds: times, settings: loadingSettings }, async (world) => {
    await addFillers(world);
    return again(world, times, () => once(world));
  });
  return { ...figures, loadingSecondsMax: Number((longestMs / 1_000).toFixed(2)) };
};

const addFillers = async ({ redis }: World): Promise<void> => {
  for (let first = 0; first < fillers; first += 1_000) {
    const pipeline = redis.pipeline();
    for (let number = first; number < first + 1_000; number++) pipeline.set(`filler:${number}`, 'x');
    await pipeline.exec();
  }
};

const loadingOnce = async (world: World): Promise<number> => {
  const { server } = world;
  await server.kill();
  const fromMs = nowMs();
  let started: Promise<void> = Promise.resolve();
  await refusedBy(world, {
    word: 'LOADING',
    begin: async () => {
      started = server.start();
      const loads = async () => (await pinged(server.url)).startsWith('LOADING');
      await until('Redis says that it loads', loads);
    },
    end: async () => {
      const told = await pinged(server.url);
      await started;
      assert.match(told, /^LOADING/, 'it was loading all the while');
    },
  });
  return nowMs() - fromMs;
};

/** What one PING is answered with, also by a server that is not ready. */
const pinged = async (url: string): Promise<string> => {
  const client = new Redis(url, { enableReadyCheck: false, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  try {
    return await client.ping();
  } catch (error) {
    return (error as Error).message;
  } finally {
    client.disconnect();
  }
};

const again = (world: World, times: number, fault: () => Promise<void>): Promise<number> =>
  underLoad(world.stack, async () => {
    let silenceMax = 0;
    for (let round = 0; round < times; round++)
      silenceMax = Math.max(silenceMax, await duringFault(world.stack, fault));
    return silenceMax;
  });

/** How much of the newest is lost. */
const lostMs = 1_000;

/**
 * `everysec`: killed, and what it appended in the last second is cut off. The nodes give all of it back;
 * where a user has voted again first, one of his two votes counts, and the figures say how often.
 */
export const runTailLost = async (times: number, seed: number): Promise<AwayFigures> => {
  const settings = ['appendfsync everysec'];
  const figures = await onRedis({ seed, rounds: times, losesTail: true, settings }, (world) =>
    again(world, times, () => loseTail(world)),
  );
  assert.ok(Number(figures.healed) > 0, 'nothing was lost');
  return figures;
};

const loseTail = async (world: World): Promise<void> => {
  const before = await tailOf(world);
  await sleep(lostMs);
  await world.server.kill();
  const after = await tailOf(world);
  // Else the file was rewritten meanwhile, and what it had is in another one.
  if (before.path === after.path) await truncate(after.path, before.bytes);
  await world.server.start();
};

/** The newest of the files that Redis appends to, and its length. */
const tailOf = async ({ server }: World): Promise<{ path: string; bytes: number }> => {
  const folder = join(server.folder, 'appendonlydir');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).sort();
  const path = join(folder, names.at(-1) as string);
  return { path, bytes: (await stat(path)).size };
};

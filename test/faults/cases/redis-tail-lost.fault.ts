/**
 * Redis that loads for seconds, or lost its last second. Time limit: 900 s.
 */

import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs } from '../../../bench/prove/client-log.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { round } from '../harness/figures.ts';
import type { ServersWorld as World } from '../harness/on-servers.ts';
import { type AwayFigures, duringEach, loseTail, onRedis, refusedBy, repeat } from './redis-away.ts';

const test = suite('redis started again');

/** Keys of no node, which take their time when the server starts. */
const fillers = 15_000;
const loadingSettings = ['key-load-delay 300', 'loading-process-events-interval-bytes 1024'];

interface LoadingFigures extends AwayFigures {
  /** From its start until it answered. */
  readonly loadingSecondsMax: number;
}

/** Killed, and some seconds of LOADING at its start: nothing is counted, and it goes on by itself. */
const runLoading = async (times: number, seed: number): Promise<LoadingFigures> => {
  let longestMs = 0;
  const once = async (world: World): Promise<void> => {
    longestMs = Math.max(longestMs, await loadingOnce(world));
  };
  const figures = await onRedis({ seed, rounds: times, settings: loadingSettings }, async (world) => {
    await addFillers(world);
    return duringEach(
      world.stack,
      repeat(times, () => once(world)),
    );
  });
  return { ...figures, loadingSecondsMax: round(longestMs / 1_000) };
};

const addFillers = async ({ admin }: World): Promise<void> => {
  for (let first = 0; first < fillers; first += 1_000) {
    const pipeline = admin.pipeline();
    for (let number = first; number < first + 1_000; number++) pipeline.set(`filler:${number}`, 'x');
    await pipeline.exec();
  }
};

const loadingOnce = async (world: World): Promise<number> => {
  const { redis } = world;
  await redis.kill();
  const fromMs = nowMs();
  let started: Promise<void> = Promise.resolve();
  await refusedBy(world, {
    name: 'LOADING',
    begin: async () => {
      started = redis.start();
      const loads = async () => (await ping(redis.url)).startsWith('LOADING');
      await until('Redis says that it loads', loads);
    },
    end: async () => {
      const answer = await ping(redis.url);
      await started;
      assert.match(answer, /^LOADING/, 'it was loading all the while');
    },
  });
  return nowMs() - fromMs;
};

/** The answer to one PING, also of a server that is not ready. */
const ping = async (url: string): Promise<string> => {
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

/**
 * `everysec`: killed, and what it appended in the last second is cut off. The nodes resend all of it;
 * where a user has voted again first, one of the two votes counts, and the figures say how often.
 */
const runTailLost = async (times: number, seed: number): Promise<AwayFigures> => {
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

faultCase(test, {
  title: 'while Redis loads nothing is counted, and it goes on by itself',
  name: 'Redis loading',
  run: ({ seed, count }) => runLoading(count, seed),
});

faultCase(test, {
  title: 'the last second of a Redis that syncs every second comes back from the nodes',
  name: 'Redis without its last second',
  counts: { faults: 4 },
  run: ({ seed, count }) => runTailLost(count, seed),
});

test.run();

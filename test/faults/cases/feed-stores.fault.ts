/**
 * Followers of the feed while a store is away, emptied, without its newest writes, or older than before: each
 * gets every vote number once or inside a gap, totals that go back only after a `reset`, and in the end what
 * every reader sees. Time limit: 1200 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs } from '../../../bench/prove/client-log.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { onServers, type ServersWorld } from '../harness/on-servers.ts';
import { acknowledged, underLoad } from '../harness/waits.ts';
import { type Follower, type FollowerFigures, sumOf, withFollowers } from './feed-followers.ts';
import { duringEach, loseTail, onRedis } from './redis-away.ts';
import { countedSince, startAndCount, swap } from './servers-older.ts';

const test = suite('feed and its stores');
const followers = { count: 24, mayReset: true };

/** The faults of Redis one after the other, under followers. */
const disturbRedis = async (
  options: Parameters<typeof onRedis>[0],
  list: (world: ServersWorld) => readonly (() => Promise<void>)[],
) => {
  let received: FollowerFigures | null = null;
  const figures = await onRedis(options, async (world) => {
    let silence = 0;
    received = await withFollowers(world.stack, followers, async () => {
      silence = await duringEach(world.stack, list(world));
    });
    return silence;
  });
  return { ...figures, ...(received as unknown as FollowerFigures) };
};

faultCase(test, {
  title: 'Redis killed, then emptied: totals begin again after a reset, votes go on by number',
  name: 'followers of the feed and a Redis that is emptied',
  run: async ({ seed }) => {
    const figures = await disturbRedis({ seed, mayLose: true, forgets: true }, ({ redis, admin }) => [
      async () => {
        await redis.kill();
        await redis.start();
      },
      async () => void (await admin.flushall()),
    ]);
    assert.ok(figures.resets >= followers.count, `${figures.resets} resets`);
    return figures;
  },
});

faultCase(test, {
  title: 'Redis without its last second: no total goes back without a reset',
  name: 'followers of the feed and a Redis without its last second',
  run: ({ seed }) => {
    const settings = ['appendfsync everysec'];
    return disturbRedis({ seed, losesTail: true, settings }, (world) => [
      () => loseTail(world),
      () => loseTail(world),
    ]);
  },
});

const countTotals = (all: readonly Follower[]): number =>
  sumOf(all, ({ lives }) => lives.flat().filter(({ event }) => event === 'totals').length);
const countVotes = (all: readonly Follower[]): number => sumOf(all, ({ votes }) => votes);

/** Votes are in SQL before they are sent, so none come; totals do. */
const stopPostgres = async ({ postgres, stack }: ServersWorld, all: readonly Follower[]): Promise<void> => {
  await postgres.stop('fast');
  try {
    // What was read before is on its way.
    await sleep(1_000);
    const [totals, votes] = [countTotals(all), countVotes(all)];
    await acknowledged(stack.log, 100);
    await until('totals go on', async () => countTotals(all) > totals + all.length);
    assert.is(countVotes(all), votes, 'votes that are not in SQL');
  } finally {
    await postgres.start();
  }
  const votes = countVotes(all);
  await until('votes come late', async () => countVotes(all) > votes);
};

faultCase(test, {
  title: 'Postgres away: totals go on, and all votes come once it is back',
  name: 'followers of the feed without Postgres',
  run: ({ seed }) =>
    onServers({ seed }, async (world) => {
      const { stack } = world;
      const received = await withFollowers(stack, { count: followers.count }, (all) =>
        underLoad(stack, 8, async () => {
          await acknowledged(stack.log, 100);
          await stopPostgres(world, all);
          await acknowledged(stack.log, 60);
        }),
      );
      return { ...(await stack.judge()), ...received };
    }),
});

faultCase(test, {
  title: 'an older Postgres: the log of votes begins again, after a reset',
  name: 'followers of the feed and an older Postgres',
  run: ({ seed }) =>
    onServers({ seed }, async (world) => {
      const { stack } = world;
      let rowless = { fromMs: 0, toMs: 0 };
      const received = await withFollowers(stack, followers, async () => {
        rowless = await swap(world, 'sql');
        const fromMs = nowMs();
        await startAndCount(stack, () =>
          until('every entity was counted again', async () => countedSince(stack, fromMs)),
        );
      });
      assert.ok(received.resets >= followers.count, `${received.resets} resets`);
      return { ...(await stack.judge({ rowless })), ...received };
    }),
});

test.run();

/**
 * The shared hot store fails under the load of two nodes: killed and started again, or refusing with each of
 * the errors Redis has for that. What it refuses was not counted, and it goes on by itself.
 *
 * Each fault is done to a real server and undone again.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { nowMs } from '../../../bench/prove/client-log.ts';
import { until } from '../../support/until.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers, type ServersWorld as World } from '../harness/on-servers.ts';
import { judgeWithResent, type Resent } from '../harness/resent.ts';
import type { JudgeOptions, Stack } from '../harness/stack.ts';
import { acknowledged, timeSilence, underLoad, untilAll, untilRefuses } from '../harness/waits.ts';

export interface AwayFigures extends Figures, Partial<Resent> {
  readonly silenceSecondsMax: number;
}

const password = 'a-password-unknown-to-the-nodes';
const connections = 16;

export interface AwayOptions extends JudgeOptions {
  readonly seed: number;
  /** Of the Redis. */
  readonly settings?: readonly string[];
  /** The Redis loses its newest part, which nodes resend. */
  readonly losesTail?: boolean;
}

/** Runs on two nodes that reach their Redis through a proxy; judges at the end. */
export const onRedis = (
  options: AwayOptions,
  task: (world: World) => Promise<number>,
): Promise<AwayFigures> => {
  const { seed, settings = [], losesTail = false } = options;
  return onServers({ seed, redis: { settings }, behindProxy: 'redis' }, async (world) => {
    const silenceSecondsMax = await task(world);
    const figures = await (losesTail ? judgeWithResent(world.stack, options) : world.stack.judge(options));
    return { ...figures, silenceSecondsMax };
  });
};

/** Load, then the fault, until it is over; clicks in between count later. Returns seconds of silence. */
export const duringFault = async (stack: Stack, fault: () => Promise<void>): Promise<number> => {
  await acknowledged(stack.log, 80);
  return timeSilence(stack, async () => {
    const fromMs = nowMs();
    await fault();
    await untilAll(stack, 200);
    stack.log.withoutRoom.push({ fromMs, toMs: nowMs() });
    await acknowledged(stack.log, 50);
  });
};

/** The faults one after the other under load. Returns the longest silence in seconds. */
export const duringEach = (stack: Stack, faults: readonly (() => Promise<void>)[]): Promise<number> =>
  underLoad(stack, connections, async () => {
    let silenceMax = 0;
    for (const fault of faults) silenceMax = Math.max(silenceMax, await duringFault(stack, fault));
    return silenceMax;
  });

/** The same fault so many times. */
export const repeat = <Item>(times: number, item: Item): readonly Item[] =>
  Array.from({ length: times }, () => item);

export interface Refusal {
  readonly name: string;
  begin(world: World): Promise<unknown>;
  end(world: World): Promise<unknown>;
}

export const refusals: readonly Refusal[] = [
  {
    name: 'OOM',
    begin: ({ admin }) => admin.config('SET', 'maxmemory', '1'),
    end: ({ admin }) => admin.config('SET', 'maxmemory', '0'),
  },
  {
    // As after its replica was promoted and it follows that one.
    name: 'READONLY',
    begin: ({ admin }) => admin.replicaof('127.0.0.1', 9),
    end: ({ admin }) => admin.replicaof('NO', 'ONE'),
  },
  {
    name: 'BUSY',
    begin: async ({ admin, redis }) => {
      await admin.config('SET', 'busy-reply-threshold', '1');
      const other = new Redis(redis.url);
      other
        .eval('while true do end', 0)
        .catch(() => undefined)
        .finally(() => other.disconnect());
    },
    end: ({ admin }) => admin.script('KILL'),
  },
  {
    // A save to the disk failed: a folder lies where the file should be.
    name: 'MISCONF',
    begin: async ({ admin, redis }) => {
      mkdirSync(join(redis.folder, 'dump.rdb'));
      await admin.config('SET', 'save', '3600 1000000');
      await admin.bgsave();
      await until('the save has failed', async () =>
        /rdb_last_bgsave_status:err/.test(await admin.info('persistence')),
      );
    },
    end: async ({ admin, redis }) => {
      await admin.config('SET', 'save', '');
      rmSync(join(redis.folder, 'dump.rdb'), { recursive: true });
    },
  },
  {
    name: 'NOAUTH',
    begin: async ({ admin }) => {
      await admin.config('SET', 'requirepass', password);
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes');
    },
    end: ({ admin }) => admin.config('SET', 'requirepass', ''),
  },
];

/** SIGKILL to Redis and a start, so many times under load. */
export const runKills = (seed: number, kills: number): Promise<AwayFigures> =>
  onRedis({ seed, rounds: kills }, (world) =>
    duringEach(
      world.stack,
      repeat(kills, () => killed(world)),
    ),
  );

/** Every refusal, one after the other, so many times over. */
export const runRefusals = (seed: number, times: number): Promise<AwayFigures> =>
  onRedis({ seed, rounds: times * refusals.length }, (world) =>
    duringEach(
      world.stack,
      repeat(times, refusals)
        .flat()
        .map((refusal) => () => refusedBy(world, refusal)),
    ),
  );

/** Does something to the server or the way there, and undoes it. */
export type Disturbance = (world: World) => Promise<unknown>;

/** What clients see when a reply was cut off, came by the byte, never came, or came late. */
export const disturbances: readonly Disturbance[] = [
  async ({ redis }) => {
    redis.signal('SIGSTOP');
    await sleep(2_000);
    redis.signal('SIGCONT');
  },
  async ({ redisProxy: proxy, stack }) => {
    for (const bytes of [1, 5, 100]) {
      proxy.tear(bytes + stack.random.below(20));
      await sleep(150);
      proxy.tear(0);
      await acknowledged(stack.log, 20);
    }
  },
  async ({ redisProxy: proxy, stack }) => {
    proxy.drip(true);
    await acknowledged(stack.log, 20);
    proxy.drip(false);
  },
  async ({ redisProxy: proxy }) => {
    proxy.silence();
    await sleep(1_500);
    proxy.restore();
  },
];

/** Each of them so many times under load. */
export const runDisturbances = (seed: number, times: number): Promise<AwayFigures> =>
  onRedis({ seed, rounds: times * disturbances.length }, (world) =>
    duringEach(
      world.stack,
      repeat(times, disturbances)
        .flat()
        .map((disturb) => async () => void (await disturb(world))),
    ),
  );

/** SIGKILL to Redis and a start. */
const killed = async ({ stack, redis }: World): Promise<void> => {
  await sleep(stack.random.below(50));
  await redis.kill();
  await sleep(stack.random.below(300));
  await redis.start();
};

/** Both nodes refuse and say that nothing was counted. */
export const refusedBy = async (world: World, { begin, end }: Refusal): Promise<void> => {
  await begin(world);
  try {
    for (const life of world.stack.alive()) await untilRefuses(world.stack, life);
  } finally {
    await end(world);
  }
};

/** How much of the newest is lost. */
const lostMs = 1_000;

/** Kills Redis and cuts off what it appended in the last second; starts it again. */
export const loseTail = async (world: World): Promise<void> => {
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

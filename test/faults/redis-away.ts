/**
 * The shared hot store fails under the load of two nodes: killed and started again, or refusing with each of
 * the words Redis has for that. What it refuses was not counted, and it goes on by itself.
 *
 * Each fault is done to a real server and undone again. Used with small counts in `npm test` and with the
 * promised ones in `npm run test:faults`.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as assert from 'uvu/assert';
import { type CutProxy, openCutProxy } from '../support/cut-proxy.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { nowMs } from './client-log.ts';
import type { Figures } from './figures.ts';
import { type Healed, judgeWithHealed } from './healed.ts';
import {
  acknowledged,
  type JudgeOptions,
  openStack,
  probe,
  type Stack,
  silenceSeconds,
  until,
  untilAll,
} from './stack.ts';

export interface AwayFigures extends Figures, Partial<Healed> {
  readonly silenceSecondsMax: number;
}

export interface World {
  readonly stack: Stack;
  readonly server: RedisServer;
  /** Between the nodes and the server. */
  readonly proxy: CutProxy;
  /** A connection to do harm with, beside the proxy. */
  readonly redis: Redis;
}

const password = 'a-password-nobody-told-the-nodes';

export interface AwayOptions extends JudgeOptions {
  readonly seed: number;
  /** Of the Redis. */
  readonly settings?: readonly string[];
  /** The Redis loses its newest part, which nodes give back. */
  readonly losesTail?: boolean;
}

/** Runs on two nodes and servers of its own; judges at the end. */
export const onRedis = async (
  options: AwayOptions,
  task: (world: World) => Promise<number>,
): Promise<AwayFigures> => {
  const postgres = await startPostgres();
  const server = await startRedis({ settings: options.settings });
  const proxy = await openCutProxy(server.port);
  const redis = new Redis(server.url);
  redis.on('error', () => undefined);
  try {
    const databaseUrl = await postgres.database('away');
    const { seed } = options;
    const stack = await openStack({
      redisUrls: [`redis://127.0.0.1:${proxy.port}`],
      databaseUrl,
      nodes: 2,
      seed,
    });
    try {
      const silenceSecondsMax = Number((await task({ stack, server, proxy, redis })).toFixed(2));
      const figures = await (options.losesTail ? judgeWithHealed(stack, options) : stack.judge(options));
      return { ...figures, silenceSecondsMax };
    } finally {
      await stack.close();
    }
  } finally {
    redis.disconnect();
    await proxy.close();
    await server.dispose();
    await postgres.close();
  }
};

/** Load, then the fault, until it is over; clicks in between are nobody's. Returns seconds of silence. */
export const duringFault = async (stack: Stack, fault: () => Promise<void>): Promise<number> => {
  await acknowledged(stack.log, 80);
  const fromMs = nowMs();
  await fault();
  await untilAll(stack, 200);
  const toMs = nowMs();
  stack.log.withoutRoom.push({ fromMs, toMs });
  await acknowledged(stack.log, 50);
  return silenceSeconds(stack.log, { fromMs, toMs: nowMs() });
};

/** While sixteen connections ask. */
export const underLoad = async (stack: Stack, task: () => Promise<number>): Promise<number> => {
  const load = stack.load(16);
  try {
    return await task();
  } finally {
    await load.stop();
  }
};

export interface Refusal {
  readonly word: string;
  begin(world: World): Promise<unknown>;
  end(world: World): Promise<unknown>;
}

export const refusals: readonly Refusal[] = [
  {
    word: 'OOM',
    begin: ({ redis }) => redis.config('SET', 'maxmemory', '1'),
    end: ({ redis }) => redis.config('SET', 'maxmemory', '0'),
  },
  {
    // As after its replica was promoted and it was told to follow.
    word: 'READONLY',
    begin: ({ redis }) => redis.replicaof('127.0.0.1', 9),
    end: ({ redis }) => redis.replicaof('NO', 'ONE'),
  },
  {
    word: 'BUSY',
    begin: async ({ redis, server }) => {
      await redis.config('SET', 'busy-reply-threshold', '1');
      const other = new Redis(server.url);
      other
        .eval('while true do end', 0)
        .catch(() => undefined)
        .finally(() => other.disconnect());
    },
    end: ({ redis }) => redis.script('KILL'),
  },
  {
    // A save to the disk failed: a folder lies where the file should be.
    word: 'MISCONF',
    begin: async ({ redis, server }) => {
      mkdirSync(join(server.folder, 'dump.rdb'));
      await redis.config('SET', 'save', '3600 1000000');
      await redis.bgsave();
      await until('the save has failed', async () =>
        /rdb_last_bgsave_status:err/.test(await redis.info('persistence')),
      );
    },
    end: async ({ redis, server }) => {
      await redis.config('SET', 'save', '');
      rmSync(join(server.folder, 'dump.rdb'), { recursive: true });
    },
  },
  {
    word: 'NOAUTH',
    begin: async ({ redis }) => {
      await redis.config('SET', 'requirepass', password);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes');
    },
    end: ({ redis }) => redis.config('SET', 'requirepass', ''),
  },
];

export interface Faults {
  readonly kills: number;
  readonly refusals: readonly Refusal[];
}

/** Kills first, then every word, one after the other. */
export const runRedisFaults = (seed: number, { kills, refusals: words }: Faults): Promise<AwayFigures> =>
  onRedis({ seed, rounds: kills + words.length }, (world) =>
    underLoad(world.stack, async () => {
      const faults = [
        ...Array.from({ length: kills }, () => () => killed(world)),
        ...words.map((one) => () => refusedBy(world, one)),
      ];
      let silenceMax = 0;
      for (const fault of faults) {
        silenceMax = Math.max(silenceMax, await duringFault(world.stack, fault));
      }
      return silenceMax;
    }),
  );

/** Does something to the server or the way there, and undoes it. */
export type Disturbance = (world: World) => Promise<unknown>;

/** What clients see when a reply was torn, came by the byte, never came, or came late. */
export const disturbances: readonly Disturbance[] = [
  async ({ server }) => {
    server.signal('SIGSTOP');
    await sleep(2_000);
    server.signal('SIGCONT');
  },
  async ({ proxy, stack }) => {
    for (const bytes of [1, 5, 100]) {
      proxy.tear(bytes + stack.dice.below(20));
      await sleep(150);
      proxy.tear(0);
      await acknowledged(stack.log, 20);
    }
  },
  async ({ proxy, stack }) => {
    proxy.drip(true);
    await acknowledged(stack.log, 20);
    proxy.drip(false);
  },
  async ({ proxy }) => {
    proxy.silence();
    await sleep(1_500);
    proxy.restore();
  },
];

/** Each of them so many times under load. */
export const runDisturbances = (seed: number, times: number): Promise<AwayFigures> =>
  onRedis({ seed, rounds: times * disturbances.length }, (world) =>
    underLoad(world.stack, async () => {
      let silenceMax = 0;
      for (let round = 0; round < times; round++) {
        for (const disturb of disturbances) {
          const silence = await duringFault(world.stack, async () => void (await disturb(world)));
          silenceMax = Math.max(silenceMax, silence);
        }
      }
      return silenceMax;
    }),
  );

/** SIGKILL to Redis and a start. */
const killed = async ({ stack, server }: World): Promise<void> => {
  await sleep(stack.dice.below(50));
  await server.kill();
  await sleep(stack.dice.below(300));
  await server.start();
};

/** Both nodes refuse and say that nothing was counted. */
export const refusedBy = async (world: World, { word, begin, end }: Refusal): Promise<void> => {
  await begin(world);
  try {
    for (const life of world.stack.alive()) {
      await until(`a node says that nothing was counted (${word})`, async () => {
        const { status, text, headers } = await probe(world.stack, life);
        assert.is(status, 503, text);
        assert.match(text, '"outcome":"not_applied"');
        assert.ok(Number(headers['retry-after']) >= 1, 'says when to come again');
        return true;
      });
    }
  } finally {
    await end(world);
  }
};

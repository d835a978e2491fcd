/**
 * Postgres fails under the load of two nodes: stopped as by a crash, slow, locked, without room, or away for
 * long. Counting goes on all the time, what needs SQL is refused at once, and everything is flushed after.
 *
 * Nodes reach the server through a proxy, which can make the way slow. Used with small counts in `npm test`
 * and with the promised ones in `npm run test:faults`.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgresClient from 'postgres';
import * as assert from 'uvu/assert';
import { type CutProxy, openCutProxy } from '../support/cut-proxy.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { nowMs } from './client-log.ts';
import type { Figures } from './figures.ts';
import { tally } from './judge.ts';
import { acknowledged, openStack, type Stack, silenceSeconds, until } from './stack.ts';

export interface PostgresFigures extends Figures {
  readonly silenceSecondsMax: number;
  /** Entities and votes that waited for Postgres at the most. */
  readonly backlogMax: number;
}

export interface World {
  readonly stack: Stack;
  readonly server: PostgresServer;
  readonly proxy: CutProxy;
  /** Past the proxy. */
  readonly address: string;
  readonly redisUrl: string;
}
/** Returns when the fault is over. */
export type Fault = (world: World) => Promise<void>;

/** Runs the faults one after the other on servers of its own; judges at the end. */
export const runPostgresFaults = async (
  { seed, parent }: { readonly seed: number; readonly parent?: string },
  faults: readonly Fault[],
): Promise<PostgresFigures> => {
  const server = await startPostgres({ parent, settings: { max_wal_size: '64MB', min_wal_size: '32MB' } });
  const redis = await startRedis();
  const proxy = await openCutProxy(server.port);
  try {
    const address = await server.database('away');
    const databaseUrl = address.replace(`:${server.port}/`, `:${proxy.port}/`);
    const stack = await openStack({ redisUrls: [redis.url], databaseUrl, nodes: 2, seed });
    try {
      const more = await underLoad({ stack, server, proxy, address, redisUrl: redis.url }, faults);
      return { ...(await stack.judge({ rounds: faults.length })), ...more };
    } finally {
      await stack.close();
    }
  } finally {
    await proxy.close();
    await redis.dispose();
    await server.close();
  }
};

const underLoad = async (
  world: World,
  faults: readonly Fault[],
): Promise<{ silenceSecondsMax: number; backlogMax: number }> => {
  const { stack } = world;
  const load = stack.load(12);
  let backlogMax = 0;
  const watch = async (): Promise<void> => {
    const { entities, votes } = await stack.stores.hot.countBacklog();
    backlogMax = Math.max(backlogMax, entities + votes);
  };
  try {
    // Whatever is not known yet needs SQL once: until then nothing is promised.
    await acknowledged(stack.log, 300);
    const fromMs = nowMs();
    for (const fault of faults) {
      await fault(world);
      await watch();
      await acknowledged(stack.log, 50);
    }
    const silence = silenceSeconds(stack.log, { fromMs, toMs: nowMs() });
    return { silenceSecondsMax: Number(silence.toFixed(2)), backlogMax };
  } finally {
    await load.stop();
  }
};

/** An edit, or a page that nobody has asked for yet: without SQL it is refused. */
const refusesSql = async ({ stack }: World): Promise<void> => {
  for (const { node } of stack.alive()) {
    await until('what needs SQL is refused', async () => {
      const { status } = await stack.client.ask(`${node.url}/bots/9${stack.dice.below(1e9)}`);
      return status === 503;
    });
  }
};

/** Counting goes on while the fault lasts. */
const counts = ({ stack }: World, changes: number): Promise<void> => acknowledged(stack.log, changes);

export const stopped: Fault = async (world) => {
  const { server, stack } = world;
  await sleep(stack.dice.below(150));
  await server.stop('immediate');
  try {
    await counts(world, 30);
  } finally {
    await server.start();
  }
};

/** The backlog is bounded by entities, not by time: beyond the age of every cache, time changes nothing. */
export const awayFor =
  (milliseconds: number): Fault =>
  async (world) => {
    const { server, stack } = world;
    await server.stop('fast');
    try {
      const before = tally(stack.log).acked;
      await refusesSql(world);
      await sleep(milliseconds);
      assert.ok(tally(stack.log).acked > before, 'counting goes on');
      await counts(world, 30);
    } finally {
      await server.start();
    }
  };

export const slow: Fault = async (world) => {
  world.proxy.delay(400);
  await counts(world, 100);
  world.proxy.delay(0);
};

/** A session that holds what every flush needs. */
export const locked: Fault = async (world) => {
  const sql = postgresClient(world.address, { max: 1 });
  try {
    await sql.begin(async (held) => {
      await held`lock table totals, votes in access exclusive mode`;
      await counts(world, 100);
      await sleep(2_000);
    });
  } finally {
    await sql.end();
  }
};

export const diskBytes = 192 * 2 ** 20;

/** Fills the small disk that Postgres is on, then makes room again. */
export const withoutRoomOn =
  (disk: string): Fault =>
  async (world) => {
    const ballast = join(disk, 'ballast');
    fill(ballast);
    try {
      await counts(world, 200);
      await sleep(3_000);
    } finally {
      rmSync(ballast);
      // A server that could not write its log has ended, and says so; it recovers at its next start.
      await world.server.stop('immediate');
      await world.server.start();
    }
  };

const fill = (path: string): void => {
  const chunk = Buffer.alloc(64 * 2 ** 10);
  for (;;) {
    try {
      appendFileSync(path, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
};

/** A small disk of the test's own at this folder, for as long as the task runs. */
export const onSmallDisk = async <Result>(disk: string, task: () => Promise<Result>): Promise<Result> => {
  mkdirSync(disk, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=755`, 'rollcall-postgres', disk]);
  try {
    return await task();
  } finally {
    execFileSync('umount', ['-l', disk]);
  }
};

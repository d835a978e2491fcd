/**
 * Postgres fails under the load of two nodes: stopped as by a crash, slow, locked, without room, or away for
 * long. Counting goes on all the time, what needs SQL is refused at once, and everything is flushed after.
 *
 * Nodes reach the server through a proxy, which can make the way slow.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import postgresClient from 'postgres';
import * as assert from 'uvu/assert';
import { tally } from '../../../bench/prove/judge.ts';
import { until } from '../../support/until.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers, type ServersWorld as World } from '../harness/on-servers.ts';
import { fillDisk, onSmallDisk } from '../harness/small-disk.ts';
import { acknowledged, timeSilence, underLoad } from '../harness/waits.ts';

export interface PostgresFigures extends Figures {
  readonly silenceSecondsMax: number;
  /** Entities and votes that waited for Postgres at the most. */
  readonly backlogMax: number;
}

/** Resolves when the fault is over. */
export type Fault = (world: World) => Promise<void>;

/** So that the log of a Postgres fits on a small disk. */
export const littleLog = { max_wal_size: '64MB', min_wal_size: '32MB' };

/** Runs the faults one after the other on nodes that reach Postgres through a proxy; judges at the end. */
export const runPostgresFaults = (
  { seed, parent }: { readonly seed: number; readonly parent?: string },
  faults: readonly Fault[],
): Promise<PostgresFigures> => {
  const postgres = { settings: littleLog, ...(parent !== undefined && { parent }) };
  return onServers({ seed, postgres, behindProxy: 'postgres' }, async (world) => {
    const { stack } = world;
    let backlogMax = 0;
    const silenceSecondsMax = await underLoad(stack, 12, async () => {
      // An unknown name needs SQL once: until then nothing is promised.
      await acknowledged(stack.log, 300);
      return timeSilence(stack, async () => {
        for (const fault of faults) {
          await fault(world);
          const { entities, votes } = await stack.stores.hot.countBacklog();
          backlogMax = Math.max(backlogMax, entities + votes);
          await acknowledged(stack.log, 50);
        }
      });
    });
    return { ...(await stack.judge({ rounds: faults.length })), silenceSecondsMax, backlogMax };
  });
};

/** A page that no node has read yet: without SQL it is refused. */
const refusesSql = async ({ stack }: World): Promise<void> => {
  for (const { node } of stack.alive()) {
    await until('what needs SQL is refused', async () => {
      const { status } = await stack.client.ask(`${node.url}/bots/9${stack.random.below(1e9)}`);
      return status === 503;
    });
  }
};

/** Counting goes on while the fault lasts. */
const counts = ({ stack }: World, changes: number): Promise<void> => acknowledged(stack.log, changes);

export const stopped: Fault = async (world) => {
  const { postgres, stack } = world;
  await sleep(stack.random.below(150));
  await postgres.stop('immediate');
  try {
    await counts(world, 30);
  } finally {
    await postgres.start();
  }
};

/** The backlog is bounded by entities, not by time: beyond the age of every cache, time changes nothing. */
export const awayFor =
  (milliseconds: number): Fault =>
  async (world) => {
    const { postgres, stack } = world;
    await postgres.stop('fast');
    try {
      const before = tally(stack.log).acked;
      await refusesSql(world);
      await sleep(milliseconds);
      assert.ok(tally(stack.log).acked > before, 'counting goes on');
      await counts(world, 30);
    } finally {
      await postgres.start();
    }
  };

export const slow: Fault = async (world) => {
  world.postgresProxy.delay(400);
  await counts(world, 100);
  world.postgresProxy.delay(0);
};

/** A session that locks what every flush needs. */
export const locked: Fault = async (world) => {
  const sql = postgresClient(world.databaseUrl, { max: 1, fetch_types: false });
  try {
    // A pooler in between goes on refusing for a while.
    await until('Postgres answers', () =>
      sql`select 1`.then(
        () => true,
        () => false,
      ),
    );
    await sql.begin(async (transaction) => {
      await transaction`lock table totals, votes in access exclusive mode`;
      await counts(world, 100);
      await sleep(2_000);
    });
  } finally {
    await sql.end();
  }
};

export const diskBytes = 192 * 2 ** 20;

/** Postgres on a small disk that is filled, then has room again. */
export const runPostgresDiskFull = (seed: number): Promise<PostgresFigures | null> =>
  onSmallDisk('Postgres without room', diskBytes, (disk) =>
    runPostgresFaults({ seed, parent: disk }, [withoutRoomOn(disk)]),
  );

export const withoutRoomOn =
  (disk: string): Fault =>
  async (world) => {
    const ballast = fillDisk(disk);
    try {
      await counts(world, 200);
      await sleep(3_000);
    } finally {
      rmSync(ballast);
      // A server that could not write its log has ended, and says so; it recovers at its next start.
      await world.postgres.stop('immediate');
      await world.postgres.start();
    }
  };

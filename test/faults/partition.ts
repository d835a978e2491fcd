/**
 * One node together with one primary of a Redis Cluster is cut off from all others, under load, and
 * joined again: the node resends from memory what the cut-off side acknowledged and lost.
 *
 * The clients and Postgres reach both sides. Runs in a network of its own (`partition-main.ts`).
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type Island, raiseIsland } from '../support/island.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { nowMs } from './client-log.ts';
import {
  type ClusterFault,
  type ClusterFigures,
  type ClusterWorld,
  connectAll,
  judge,
  underLoad,
} from './cluster.ts';
import { openStack, until } from './stack.ts';

export interface PartitionWorld extends ClusterWorld {
  readonly island: Island;
}

export interface PartitionRun {
  readonly seed: number;
  readonly nodeTimeoutMs: number;
  readonly rounds: number;
  /** What is done to the cable; it has to be whole again at the end. */
  readonly break: ClusterFault<PartitionWorld>;
}

const flapMs = 200;
const flaps = 20;

/** The primary on the island, and the node there; the other node is life 0, and its service is measured. */
const cutOff = { primary: 0, life: 1 };

/** Lets the island's node in. */
const openPostgres = async (): Promise<PostgresServer> => {
  const postgres = await startPostgres({ settings: { listen_addresses: '*' } });
  appendFileSync(join(postgres.folder, 'data/pg_hba.conf'), '\nhost all all 10.78.0.0/16 trust\n');
  process.kill(postgres.pid(), 'SIGHUP');
  return postgres;
};

export const runPartition = async (run: PartitionRun): Promise<ClusterFigures> => {
  const island = await raiseIsland();
  const postgres = await openPostgres();
  const { here, there, through } = island;
  const main = { host: here };
  const cluster = await startRedisCluster({
    nodeTimeoutMs: run.nodeTimeoutMs,
    places: [{ host: there, through }, main, main, main, main, main],
  });
  const redis = connectAll(cluster);
  try {
    const databaseUrl = await postgres.database('partition');
    const stack = await openStack({ redisUrls: cluster.urls, databaseUrl, nodes: 1, seed: run.seed });
    try {
      const settings = {
        HOST: island.safeThere,
        ADMIN_HOST: island.safeThere,
        DATABASE_URL: databaseUrl.replace('127.0.0.1', island.safeHere),
      };
      await stack.open({ through, settings });
      const world = { stack, cluster, redis, island };
      const faults = Array.from({ length: run.rounds }, () => run.break);
      const silenceSecondsMax = await underLoad(world, faults);
      return await judge(stack, { rounds: run.rounds, silenceSecondsMax });
    } finally {
      await stack.close();
    }
  } finally {
    for (const one of redis) one.disconnect();
    await cluster.dispose();
    await postgres.close();
    island.dispose();
  }
};

/** Nothing passes in these directions until the majority has elected another primary, and some more. */
const cutOneOrBoth =
  (directions: readonly ('in' | 'out')[]): ClusterFault<PartitionWorld> =>
  async ({ island, cluster, stack }, begin) => {
    await cluster.promote(cutOff.primary);
    await begin({ primary: cutOff.primary, life: 0 });
    const fromMs = nowMs();
    island.cut(directions);
    try {
      await until('the majority has another primary', async () => {
        const primaries = await cluster.primaries(1);
        return !primaries.includes(cutOff.primary);
      });
      await sleep(1_000 + stack.dice.below(2_000));
    } finally {
      island.heal();
    }
    const acked = stack.log.stats.filter(
      (op) => op.life === cutOff.life && op.outcome === 'ok' && op.callMs > fromMs,
    );
    assert.ok(acked.length > 0, 'the island acknowledged something');
  };

/** Cut and joined again every fifth of a second, for as long as it takes to be elected and more. */
const flap: ClusterFault<PartitionWorld> = async ({ island, cluster }, begin) => {
  await cluster.promote(cutOff.primary);
  await begin({ primary: cutOff.primary, life: 0 });
  try {
    for (let times = 0; times < flaps; times++) {
      island.cut(['in', 'out']);
      await sleep(flapMs);
      island.heal();
      await sleep(flapMs);
    }
  } finally {
    island.heal();
  }
};

export const breaks: Readonly<Record<string, ClusterFault<PartitionWorld>>> = {
  'both ways': cutOneOrBoth(['in', 'out']),
  'into the island': cutOneOrBoth(['in']),
  'out of the island': cutOneOrBoth(['out']),
  flapping: flap,
};

/**
 * One node together with one primary of a Redis Cluster is cut off from all others, under load, and
 * joined again: the node resends from memory what the cut-off side acknowledged and lost.
 *
 * The clients and Postgres reach both sides. Runs in a network of its own (`cluster-partitioned-main.ts`).
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { nowMs } from '../../../bench/prove/client-log.ts';
import { type Island, raiseIsland } from '../../support/island.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';
import { onServers } from '../harness/on-servers.ts';
import { type ClusterFault, type ClusterFigures, type ClusterWorld, judgeFaults } from './on-cluster.ts';

export interface PartitionWorld extends ClusterWorld {
  readonly island: Island;
}

const nodeTimeoutMs = 2_000;
const flapMs = 200;
const flaps = 20;

/** The primary on the island, and the node there; the other node is life 0, and its service is measured. */
const cutOff = { primary: 0, life: 1 };

/** What is done to the cable, so many times; it has to be whole again after each. */
export const runPartition = async (
  seed: number,
  rounds: number,
  fault: ClusterFault<PartitionWorld>,
): Promise<ClusterFigures> => {
  const island = await raiseIsland();
  const { here, there, through } = island;
  const main = { host: here };
  const places = [{ host: there, through }, main, main, main, main, main];
  const postgres = { settings: { listen_addresses: '*' } };
  try {
    return await onServers(
      { seed, nodes: 1, postgres, cluster: { nodeTimeoutMs, places } },
      async (world) => {
        admitIsland(world.postgres);
        const settings = {
          HOST: island.safeThere,
          ADMIN_HOST: island.safeThere,
          // The clients are on this side, and say which address each visitor has.
          TRUSTED_PROXIES: island.safeHere,
          DATABASE_URL: world.databaseUrl.replace('127.0.0.1', island.safeHere),
        };
        await world.stack.open({ through, settings });
        const faults = Array.from({ length: rounds }, () => fault);
        return judgeFaults({ ...(world as ClusterWorld), island }, faults);
      },
    );
  } finally {
    island.dispose();
  }
};

/** Lets the island's node connect. */
const admitIsland = (postgres: PostgresServer): void => {
  appendFileSync(join(postgres.folder, 'data/pg_hba.conf'), '\nhost all all 10.78.0.0/16 trust\n');
  process.kill(postgres.pid(), 'SIGHUP');
};

/** Nothing passes in these directions until the majority has elected another primary, and some more. */
const cutOneOrBoth =
  (directions: readonly ('in' | 'out')[]): ClusterFault<PartitionWorld> =>
  async ({ island, cluster, stack }, begin) => {
    await cluster.promote(cutOff.primary);
    await begin({ primary: cutOff.primary, life: 0 });
    const fromMs = nowMs();
    island.cut(directions);
    // Soon all of the load's requests may wait for primaries that the island cannot reach.
    const posts = stack.lives.filter(({ life }) => life === cutOff.life).map(stack.postAt);
    try {
      await until('the majority has another primary', async () => {
        const primaries = await cluster.primaries(1);
        return !primaries.includes(cutOff.primary);
      });
      await sleep(1_000 + stack.random.below(2_000));
    } finally {
      island.heal();
    }
    await Promise.all(posts);
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

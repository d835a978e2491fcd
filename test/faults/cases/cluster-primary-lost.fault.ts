/**
 * What may happen to a Redis Cluster under load: a primary killed or paused until its replica takes its
 * place, no majority, slots without an owner, too few replicas, slots that move, also to a primary that
 * joins empty.
 *
 * Each fault is done to real servers and undone again. Time limit: 2400 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Stack } from '../harness/stack.ts';
import { untilRefuses } from '../harness/waits.ts';
import { type ClusterFault, type ClusterWorld, runClusterFaults, slotOf } from './on-cluster.ts';

const test = suite('cluster');

/** One of the primaries that every server believes in. */
const anyPrimary = async ({ cluster, stack }: ClusterWorld): Promise<number> =>
  stack.random.pick(await cluster.primaries(0));

/** Resolves when another server has the slots of this one, as a third one says. */
const replaced = ({ cluster }: ClusterWorld, gone: number): Promise<void> =>
  until('a replica has taken over', async () => {
    const primaries = await cluster.primaries(gone === 0 ? 1 : 0);
    return primaries.length >= 3 && !primaries.includes(gone);
  });

/** SIGKILL of a primary; its replica is elected; the killed one comes back as a replica. */
const killed: ClusterFault = async (world, begin) => {
  const { cluster, stack } = world;
  const gone = await anyPrimary(world);
  await begin({ primary: gone });
  await sleep(stack.random.below(50));
  await cluster.servers[gone]?.kill();
  await replaced(world, gone);
  await sleep(stack.random.below(500));
  await cluster.servers[gone]?.start();
};

/**
 * The replica gets nothing from its primary for a while, then the primary is killed: what was acknowledged
 * meanwhile is lost with it.
 */
const killedBehind: ClusterFault = async (world, begin) => {
  const { cluster, admins, stack } = world;
  const gone = await anyPrimary(world);
  const replica = await cluster.replicaOf(gone);
  await begin({ primary: gone });
  // A password that the primary does not know: the replica is not let in again.
  await admins[replica]?.config('SET', 'masterauth', 'wrong');
  await admins[gone]?.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await sleep(500 + stack.random.below(500));
  await cluster.servers[gone]?.kill();
  await replaced(world, gone);
  await admins[replica]?.config('SET', 'masterauth', '');
  await cluster.servers[gone]?.start();
};

/** SIGSTOP of a primary until it was replaced, which it does not know when it goes on. */
const paused: ClusterFault = async (world, begin) => {
  const { cluster, stack } = world;
  const gone = await anyPrimary(world);
  await begin({ primary: gone });
  cluster.servers[gone]?.signal('SIGSTOP');
  try {
    await replaced(world, gone);
    await sleep(stack.random.below(2_000));
  } finally {
    cluster.servers[gone]?.signal('SIGCONT');
  }
};

/** Two of three primaries killed: none can be elected, and the third one refuses until they are back. */
const majorityGone: ClusterFault = async (world, begin) => {
  const { cluster, stack } = world;
  const [kept = 0, ...gone] = await cluster.primaries(0);
  await begin({ primary: kept });
  await Promise.all(gone.map((index) => cluster.servers[index]?.kill()));
  await untilRefused(stack);
  await Promise.all(gone.map((index) => cluster.servers[index]?.start()));
};

/** A slot without an owner: by default all of a Cluster refuses then. */
const slotWithoutOwner: ClusterFault = async (world, begin) => {
  const { cluster, admins, stack } = world;
  const [bot = ''] = stack.directory.bots;
  const slot = await slotOf(world, { kind: 'bot', id: bot });
  const owner = await cluster.ownerOf(slot);
  await begin({ primary: owner });
  for (const one of admins) await one.call('CLUSTER', 'DELSLOTS', slot);
  await untilRefused(stack);
  await admins[owner]?.call('CLUSTER', 'ADDSLOTS', slot);
};

/** `min-replicas-to-write` with too few of them. */
const withoutReplicas: ClusterFault = async ({ cluster, admins, stack }, begin) => {
  await begin({ primary: stack.random.pick(await cluster.primaries(0)) });
  for (const one of admins) await one.config('SET', 'min-replicas-to-write', '5');
  await untilRefused(stack);
  for (const one of admins) await one.config('SET', 'min-replicas-to-write', '0');
};

/** Both nodes refuse, and say that nothing was counted. */
const untilRefused = async (stack: Stack): Promise<void> => {
  for (const life of stack.alive()) await untilRefuses(stack, life);
};

const moveBots = async (world: ClusterWorld, count: number, to: (owner: number) => number): Promise<void> => {
  const { cluster, stack } = world;
  for (let moved = 0; moved < count; moved++) {
    const slot = await slotOf(world, { kind: 'bot', id: stack.random.pick(stack.directory.bots) });
    const owner = await cluster.ownerOf(slot);
    if (owner !== to(owner)) await cluster.moveSlot(slot, to(owner));
  }
};

/** Slots of bots go from primary to primary. */
const migrating: ClusterFault = async (world, begin) => {
  const primaries = await world.cluster.primaries(0);
  await begin({ primary: primaries[0] ?? 0 });
  await moveBots(world, 6, (owner) => primaries[(primaries.indexOf(owner) + 1) % primaries.length] ?? owner);
};

/** A primary joins, empty and without the library, and takes slots of bots. */
const joined: ClusterFault = async (world, begin) => {
  const primaries = await world.cluster.primaries(0);
  await begin({ primary: primaries[0] ?? 0 });
  const index = await world.cluster.join();
  await moveBots(world, 6, () => index);
};

const plans: readonly {
  readonly title: string;
  readonly name: string;
  readonly times?: number;
  readonly faults: readonly ClusterFault[];
}[] = [
  {
    title: 'a primary killed: nothing acknowledged is lost, nothing counts twice',
    name: 'kill -9 of a Cluster primary',
    times: 4,
    faults: [killed],
  },
  {
    title: 'a primary killed whose replica was behind: nodes resend what was lost with it',
    name: 'kill -9 of a Cluster primary, its replica behind',
    times: 2,
    faults: [killedBehind],
  },
  {
    title: 'a primary paused until it was replaced: nothing is lost, nothing counts twice',
    name: 'SIGSTOP of a Cluster primary',
    times: 2,
    faults: [paused],
  },
  {
    title: 'no majority, no owner of a slot, too few replicas: nothing was counted, and it goes on',
    name: 'Cluster that refuses',
    faults: [majorityGone, slotWithoutOwner, withoutReplicas],
  },
  {
    title: 'slots that move, also to a primary that joins empty: nothing is lost, nothing counts twice',
    name: 'slots on the move',
    faults: [migrating, joined, migrating],
  },
];

for (const { title, name, times = 1, faults } of plans) {
  faultCase(test, {
    title,
    name,
    counts: { faults: times },
    run: ({ seed, count }) => runClusterFaults(seed, Array.from({ length: count }, () => faults).flat()),
  });
}

test.run();

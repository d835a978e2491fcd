/**
 * Two nodes on a Redis Cluster of the test's own, and load, while faults come one after the other; then the
 * client's log and the stores are compared.
 *
 * The faults are in `cluster-primary-lost.ts` and `cluster-partitioned.ts`.
 */

import { nowMs } from '../../../bench/prove/client-log.ts';
import { pickShards } from '../../../bench/prove/silence.ts';
import type { Shard } from '../../../engine/ids.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import type { Target } from '../../support/directory.ts';
import type { RedisCluster } from '../../support/redis-cluster.ts';
import { shardOf } from '../../support/refs.ts';
import { until } from '../../support/until.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers, type ServersWorld } from '../harness/on-servers.ts';
import { judgeWithResent, type Resent } from '../harness/resent.ts';
import type { Stack } from '../harness/stack.ts';
import { acknowledged, silenceSeconds, underLoad } from '../harness/waits.ts';

export interface ClusterFigures extends Figures, Resent {
  /** Acknowledged ones, which are among `acked`; each has to be there in the end. */
  readonly clicks: number;
  /** Longest time without an acknowledged change of what the fault concerned. */
  readonly silenceSecondsMax: number;
}

export type ClusterWorld = ServersWorld & { readonly cluster: RedisCluster };

/** Whose service is measured: the shards of a server's slots, at all nodes or one. */
export interface Concerned {
  readonly primary: number;
  readonly life?: number;
}

/** One fault, from beginning to end. It calls `begin` right before it does harm. */
export type ClusterFault<World = ClusterWorld> = (
  world: World,
  begin: (concerned: Concerned) => Promise<void>,
) => Promise<void>;

const connections = 32;
const nodeTimeoutMs = 2_000;

/** Runs the faults on two nodes, a Cluster and a Postgres, with load from beginning to end; judges then. */
export const runClusterFaults = (seed: number, faults: readonly ClusterFault[]): Promise<ClusterFigures> =>
  onServers({ seed, cluster: { nodeTimeoutMs } }, (world) => judgeFaults(world as ClusterWorld, faults));

/** The faults one after the other; the verdict with what nodes report as resent. */
export const judgeFaults = async <World extends ClusterWorld>(
  world: World,
  faults: readonly ClusterFault<World>[],
): Promise<ClusterFigures> => {
  const silenceSecondsMax = await underLoad(world.stack, connections, async () => {
    let silenceMax = 0;
    for (const fault of faults) silenceMax = Math.max(silenceMax, await during(world, fault));
    return silenceMax;
  });
  const clicks = world.stack.log.clicks.filter(({ outcome }) => outcome === 'ok').length;
  return { ...(await judgeWithResent(world.stack, { rounds: faults.length })), clicks, silenceSecondsMax };
};

/** Load, the fault, until all is served and in order again. Returns seconds of silence. */
const during = async <World extends ClusterWorld>(
  world: World,
  fault: ClusterFault<World>,
): Promise<number> => {
  const { stack, cluster } = world;
  await acknowledged(stack.log, 80);
  let shards: ReadonlySet<Shard> = new Set();
  let life: number | undefined;
  let fromMs = 0;
  // A fault may hand over a primary first, which refuses writes for a moment.
  const calledMs = nowMs();
  await fault(world, async (concerned) => {
    life = concerned.life;
    shards = await shardsOf(world, concerned.primary);
    fromMs = nowMs();
  });
  await cluster.whole();
  await servedAgain(stack);
  const toMs = nowMs();
  stack.log.withoutRoom.push({ fromMs: calledMs, toMs });
  await acknowledged(stack.log, 50);
  return silenceSeconds(pickShards(stack.log, shards, life), { fromMs, toMs });
};

export const slotOf = ({ cluster }: ClusterWorld, { kind, id }: Target): Promise<number> =>
  cluster.slotOf(`{s${toTag(shardOf(kind, id))}}:e`);

/** Shards of the load's targets that this server has now. */
const shardsOf = async (world: ClusterWorld, primary: number): Promise<ReadonlySet<Shard>> => {
  const found = new Set<Shard>();
  for (const target of world.stack.directory.targets) {
    const owner = await world.cluster.ownerOf(await slotOf(world, target));
    if (owner === primary) found.add(shardOf(target.kind, target.id));
  }
  return found;
};

/** Every living node has had a change of every bot acknowledged since. */
export const servedAgain = async ({ log, directory, alive }: Stack): Promise<void> => {
  const sinceMs = nowMs();
  const expected = alive().flatMap(({ life }) => directory.bots.map((bot) => `${life} ${bot}`));
  await until('every node serves every bot again', async () => {
    const done = log.stats.filter(({ outcome, callMs }) => outcome === 'ok' && callMs > sinceMs);
    const served = new Set(done.map(({ life, bot }) => `${life} ${bot}`));
    return expected.every((one) => served.has(one));
  });
};

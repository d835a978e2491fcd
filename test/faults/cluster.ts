/**
 * Two nodes on a Redis Cluster of the test's own, and load, while faults come one after the other; then the
 * client's log and the stores are compared.
 *
 * The faults are in `cluster-faults.ts` and `partition.ts`. Used with small counts in `npm test` and with the
 * promised ones in `npm run test:faults`.
 */
import { Redis } from 'ioredis';
import { computeShard, type EntityKind, type Shard, toAddress } from '../../engine/ids.ts';
import type { Target } from '../support/directory.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { type ClientLog, nowMs } from './client-log.ts';
import type { Figures } from './figures.ts';
import { type Healed, judgeWithHealed } from './healed.ts';
import { acknowledged, openStack, type Stack, silenceSeconds, until } from './stack.ts';

export interface ClusterFigures extends Figures, Healed {
  /** Longest time without an acknowledged change of what the fault concerned. */
  readonly silenceSecondsMax: number;
}

export interface ClusterWorld {
  readonly stack: Stack;
  readonly cluster: RedisCluster;
  /** One connection to each server, to do harm with. */
  readonly redis: readonly Redis[];
}

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

export interface ClusterRun {
  readonly seed: number;
  readonly nodeTimeoutMs: number;
}

/** Runs on two nodes, a Cluster and a Postgres of its own, with load from beginning to end; judges then. */
export const runClusterFaults = async (
  run: ClusterRun,
  faults: readonly ClusterFault[],
): Promise<ClusterFigures> => {
  const postgres = await startPostgres();
  const cluster = await startRedisCluster({ nodeTimeoutMs: run.nodeTimeoutMs });
  const redis = connectAll(cluster);
  try {
    const databaseUrl = await postgres.database('cluster');
    const { seed } = run;
    const stack = await openStack({ redisUrls: cluster.urls, databaseUrl, nodes: 2, seed });
    try {
      const silenceSecondsMax = await underLoad({ stack, cluster, redis }, faults);
      return await judge(stack, { rounds: faults.length, silenceSecondsMax });
    } finally {
      await stack.close();
    }
  } finally {
    for (const one of redis) one.disconnect();
    await cluster.dispose();
    await postgres.close();
  }
};

/** A connection to each server. */
export const connectAll = ({ urls }: RedisCluster): readonly Redis[] =>
  urls.map((url) => {
    const redis = new Redis(url);
    redis.on('error', () => undefined);
    return redis;
  });

/** The stack's judgement, with what nodes say they gave back. */
export const judge = async (
  stack: Stack,
  { rounds, silenceSecondsMax }: { readonly rounds: number; readonly silenceSecondsMax: number },
): Promise<ClusterFigures> => {
  const figures = await judgeWithHealed(stack, { rounds });
  return { ...figures, silenceSecondsMax };
};

/** The faults one after the other; the longest silence in seconds. */
export const underLoad = async <World extends ClusterWorld>(
  world: World,
  faults: readonly ClusterFault<World>[],
): Promise<number> => {
  const load = world.stack.load(connections);
  let silenceMax = 0;
  try {
    for (const fault of faults) silenceMax = Math.max(silenceMax, await during(world, fault));
  } finally {
    await load.stop();
  }
  return Number(silenceMax.toFixed(2));
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
  await fault(world, async (concerned) => {
    life = concerned.life;
    shards = await shardsOf(world, concerned.primary);
    fromMs = nowMs();
  });
  await cluster.whole();
  await servedAgain(stack);
  const toMs = nowMs();
  stack.log.withoutRoom.push({ fromMs, toMs });
  await acknowledged(stack.log, 50);
  return silenceSeconds(logOf(stack.log, shards, life), { fromMs, toMs });
};

export const slotOf = async ({ redis }: ClusterWorld, { kind, id }: Target): Promise<number> =>
  Number(await redis[0]?.call('CLUSTER', 'KEYSLOT', `{s${computeShard(toAddress(kind, id))}}:e`));

/** Shards of the load's targets that this server has now. */
const shardsOf = async (world: ClusterWorld, primary: number): Promise<ReadonlySet<Shard>> => {
  const found = new Set<Shard>();
  for (const target of world.stack.directory.targets) {
    const owner = await world.cluster.ownerOf(await slotOf(world, target));
    if (owner === primary) found.add(computeShard(toAddress(target.kind, target.id)));
  }
  return found;
};

/** The changes of these shards alone, at one node or all. */
const logOf = (log: ClientLog, shards: ReadonlySet<Shard>, life?: number): ClientLog => {
  const isOne = (op: { readonly life: number }, kind: EntityKind, id: string): boolean =>
    (life === undefined || op.life === life) && shards.has(computeShard(toAddress(kind, id)));
  return {
    ...log,
    stats: log.stats.filter((op) => isOne(op, 'bot', op.bot)),
    votes: log.votes.filter((op) => isOne(op, ...(op.target.split('/') as [EntityKind, string]))),
  };
};

/** Every living node has had a change of every bot acknowledged since. */
export const servedAgain = async ({ log, directory, alive }: Stack): Promise<void> => {
  const sinceMs = nowMs();
  const wanted = alive().flatMap(({ life }) => directory.bots.map((bot) => `${life} ${bot}`));
  await until('every node serves every bot again', async () => {
    const done = log.stats.filter(({ outcome, callMs }) => outcome === 'ok' && callMs > sinceMs);
    const served = new Set(done.map(({ life, bot }) => `${life} ${bot}`));
    return wanted.every((one) => served.has(one));
  });
};

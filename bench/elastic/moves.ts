/**
 * Moves slots between primaries of a Cluster under load: a quarter of each of three to a fourth one, and
 * back. The slots that have shards move one by one, so that the silence of each shard can be seen beside its
 * size.
 */
import { listAllShards, type Shard } from '../../engine/ids.ts';
import { toTag } from '../../storage/hot/redis/tags.ts';
import { nowMs, type Span } from '../prove/client-log.ts';
import type { RedisCluster } from '../shared/redis-cluster.ts';

/** One slot with a shard, and when it moved. */
export interface SlotMoved extends Span {
  readonly shard: Shard;
  readonly slot: number;
  readonly keys: number;
  readonly bytes: number;
}

/** The primaries of the beginning; those of the Cluster's helper come first. */
const primaries = [0, 1, 2] as const;
/** Slots without a shard have no key, or a few of sessions. */
const othersAtOnce = 64;
const joinedPrimaries = primaries.length + 1;

const findShardSlots = async (cluster: RedisCluster): Promise<ReadonlyMap<number, Shard>> => {
  const shards = listAllShards();
  const slotOf = (shard: Shard) => cluster.slotOf(`{s${toTag(shard)}}:e`);
  const slots = await Promise.all(shards.map(slotOf));
  return new Map(slots.map((slot, index) => [slot, shards[index] as Shard]));
};

/** Resolves to what moved of the slots that have shards, in order. */
const moveAll = async (cluster: RedisCluster, slots: readonly number[], to: number): Promise<SlotMoved[]> => {
  const shards = await findShardSlots(cluster);
  const others = slots.filter((slot) => !shards.has(slot));
  await cluster.moveSlots(others, { to, atOnce: othersAtOnce });
  const moved: SlotMoved[] = [];
  for (const slot of slots) {
    const shard = shards.get(slot);
    if (shard === undefined) continue;
    const size = await cluster.sizeOf(slot);
    const fromMs = nowMs();
    await cluster.moveSlots([slot], { to });
    moved.push({ shard, slot, ...size, fromMs, toMs: nowMs() });
  }
  return moved;
};

/** What the fourth primary took from each of the others. */
export interface Taken {
  readonly primary: number;
  readonly slots: ReadonlyMap<number, readonly number[]>;
  readonly moved: readonly SlotMoved[];
}

/** A fourth primary joins, empty, and takes a quarter of the slots of each other. */
export const growPrimaries = async (cluster: RedisCluster): Promise<Taken> => {
  const primary = await cluster.join();
  const slots = new Map<number, readonly number[]>();
  const moved: SlotMoved[] = [];
  for (const from of primaries) {
    const owned = await cluster.slotsOf(from);
    const share = owned.slice(0, Math.floor(owned.length / joinedPrimaries));
    slots.set(from, share);
    moved.push(...(await moveAll(cluster, share, primary)));
  }
  return { primary, slots, moved };
};

/** Gives the slots back, and removes the fourth primary. */
export const shrinkPrimaries = async (cluster: RedisCluster, { slots }: Taken): Promise<SlotMoved[]> => {
  const moved: SlotMoved[] = [];
  for (const [to, share] of slots) moved.push(...(await moveAll(cluster, share, to)));
  await cluster.removeLast();
  return moved;
};

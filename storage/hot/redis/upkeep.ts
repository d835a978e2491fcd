/**
 * Changes of a Redis store other than commits (publish, clear, sweep), and the numbers of shards that it has.
 *
 * Owns how much one call of `publish` handles, because Redis serves nothing else during a call.
 */
import type { ShardPosition } from '../../../engine/entity/items.ts';
import { listAllShards, newShardCount, oldShardCount, type Shard } from '../../../engine/ids.ts';
import { readHeads } from './heads.ts';
import type { Link } from './link.ts';
import { listTags, toTag, toTags } from './tags.ts';

/** Entities that one call marks as dirty. */
const publishStep = 2_000;

/**
 * Raises one generation in steps; in a store with the old number of shards, in one step. Nodes of an earlier
 * version may use such a store, and between two steps they would record an entity as flushed.
 */
export const publishShard = async (link: Link, shard: Shard, generation: number): Promise<void> => {
  const tag = toTag(shard, link.shardCount);
  const entitiesMax = link.shardCount === oldShardCount ? Number.MAX_SAFE_INTEGER : publishStep;
  const runStep = () => link.call('publish', [tag], [tag, generation, entitiesMax]);
  for (let isUnfinished = true; isUnfinished; ) isUnfinished = Number(await runStep()) === 1;
};

/** Empties a shard if it is still at this position. */
export const clearShard = async (
  link: Link,
  { shard, generation, version }: ShardPosition & { readonly shard: Shard },
): Promise<void> => {
  const tag = toTag(shard, link.shardCount);
  await link.call('clear', [tag], [tag, generation, version]);
};

/** Removes producers that have been idle for long. */
export const sweep = async (link: Link, nowMs: number): Promise<void> => {
  const shards = listAllShards(link.shardCount);
  const groups = link.groupShards(shards).map((group) => toTags(group, link.shardCount));
  await Promise.all(groups.map((tags) => link.call('sweep', tags, [nowMs, ...tags])));
};

/** Finds out for which numbers of shards a shard was ever published. */
export const listShardCounts = async (link: Link): Promise<readonly number[]> => {
  const isUsed = async (count: number) =>
    (await readHeads(link, listTags(count))).some(({ generation }) => generation > 0);
  const counts = [newShardCount, oldShardCount];
  const used = await Promise.all(counts.map(isUsed));
  return counts.filter((_, index) => used[index]);
};

/**
 * The hash tags of shards: the keys of a shard begin with `{s<tag>}`, so a Redis Cluster keeps them together.
 *
 * In a store of the old number a shard is its own tag. In one of the new number the tags' hash slots lie near
 * the middle of sixteen equal parts of all slots: then 3, 6, 8, 12 or 16 primaries that divide the slots
 * evenly have equal numbers of shards, as far as that is possible. The two sets have no tag in common, so
 * keys tell how many shards a store has. Tags never change: every later version reads these keys. Pure.
 */
import { newShardCount, oldShardCount, type Shard } from '../../../engine/ids.ts';

export type Tag = number & { readonly __brand: 'tag' };

const spreadTags = [
  185, 678, 853, 943, 193, 238, 845, 955, 905, 815, 268, 378, 408, 518, 628, 738,
] as readonly number[] as readonly Tag[];
const oldTags = Array.from({ length: oldShardCount }, (_, shard) => shard as Tag);

/** Lists the tags of a store with `count` shards, in the order of its shards. */
export const listTags = (count: number): readonly Tag[] => (count === newShardCount ? spreadTags : oldTags);

export const toTag = (shard: Shard, count: number): Tag => listTags(count)[shard] as Tag;

export const toTags = (shards: readonly Shard[], count: number): readonly Tag[] =>
  shards.map((shard) => toTag(shard, count));

/**
 * The hash tags of shards: the keys of a shard begin with `{s<tag>}`, so a Redis Cluster keeps them together.
 *
 * The tags' hash slots lie near the middle of sixteen equal parts of all slots: then 3, 6, 8, 12 or 16
 * primaries that divide the slots evenly have equal numbers of shards, as far as that is possible. Tags never
 * change, because stores outlive programs. Pure.
 */
import type { Shard } from '../../../engine/ids.ts';

export type Tag = number & { readonly __brand: 'tag' };

/** The tags in the order of their shards. */
export const tags = [
  185, 678, 853, 943, 193, 238, 845, 955, 905, 815, 268, 378, 408, 518, 628, 738,
] as readonly number[] as readonly Tag[];

export const toTag = (shard: Shard): Tag => tags[shard] as Tag;

export const toTags = (shards: readonly Shard[]): readonly Tag[] => shards.map(toTag);

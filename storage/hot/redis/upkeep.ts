/**
 * Changes of a Redis store other than commits: publish, clear, sweep.
 *
 * Owns how much one call of `publish` handles, because Redis serves nothing else during a call.
 */
import type { ShardPosition } from '../../../engine/entity/items.ts';
import { listAllShards, type Shard } from '../../../engine/ids.ts';
import type { Link } from './link.ts';
import { toTag, toTags } from './tags.ts';

/** Entities that one call marks as dirty. */
const publishStep = 2_000;

/** Raises one generation, in steps. */
export const publishShard = async (link: Link, shard: Shard, generation: number): Promise<void> => {
  const tag = toTag(shard);
  const runStep = () => link.call('publish', [tag], [tag, generation, publishStep]);
  for (let isUnfinished = true; isUnfinished; ) isUnfinished = Number(await runStep()) === 1;
};

/** Empties a shard if it is still at this position. */
export const clearShard = async (
  link: Link,
  { shard, generation, version }: ShardPosition & { readonly shard: Shard },
): Promise<void> => {
  const tag = toTag(shard);
  await link.call('clear', [tag], [tag, generation, version]);
};

/** Removes producers that have been idle for long. */
export const sweep = async (link: Link, nowMs: number): Promise<void> => {
  const shards = listAllShards();
  const groups = link.groupShards(shards).map((group) => toTags(group));
  await Promise.all(groups.map((tags) => link.call('sweep', tags, [nowMs, ...tags])));
};

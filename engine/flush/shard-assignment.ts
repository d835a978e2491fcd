/**
 * Which shards a node flushes: rendezvous hashing over the living nodes' names. Pure.
 *
 * Every node computes it for itself from the same list. When one comes or goes only its own shares move;
 * while lists differ, a shard may have two flushers (harmless, rounds are guarded) or none (for as long as
 * they differ). Called by the composition root.
 */
import { type Shard, shardCount, toShard } from '../ids.ts';

/** FNV-1a with a final mix. */
const computeWeight = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 0;
};

/** The shares of `node` among `nodes`, `null` when it is alone. Who is not on the list counts himself in. */
export const assignShards = (node: string, nodes: readonly string[]): readonly Shard[] | null => {
  const others = nodes.filter((one) => one !== node);
  if (others.length === 0) return null;
  const mine: Shard[] = [];
  for (let shard = 0; shard < shardCount; shard++) {
    const own = computeWeight(`${shard} ${node}`);
    const wins = others.every((other) => {
      const weight = computeWeight(`${shard} ${other}`);
      return weight < own || (weight === own && other < node);
    });
    if (wins) mine.push(toShard(shard));
  }
  return mine;
};

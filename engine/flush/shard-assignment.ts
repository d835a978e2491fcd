/**
 * Assigns shards to the nodes that flush them, by rendezvous hashing over the active nodes' names. Pure.
 *
 * Every node computes its own shards from the same list. If a node joins or leaves, only its own shards move.
 * While the nodes' lists differ, a shard may have two flushers (harmless, rounds are guarded) or none (until
 * the lists agree).
 */
import { computeTextHash, listAllShards, type Shard } from '../ids.ts';

/** Hashes with a second mix: names of nodes may differ in their last character only. */
const computeWeight = (text: string): number => {
  const hash = Math.imul(computeTextHash(text), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 0;
};

/**
 * Lists the shards of `node` among `nodes`, `null` if it is alone. Counts `node` in even if the list lacks
 * it.
 */
export const assignShards = (node: string, nodes: readonly string[]): readonly Shard[] | null => {
  const others = nodes.filter((name) => name !== node);
  if (others.length === 0) return null;
  return listAllShards().filter((shard) => {
    const own = computeWeight(`${shard} ${node}`);
    return others.every((other) => {
      const weight = computeWeight(`${shard} ${other}`);
      return weight < own || (weight === own && other < node);
    });
  });
};

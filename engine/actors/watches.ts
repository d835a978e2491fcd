/**
 * The watches of this node: which entities somebody outside the engine follows, and whom to tell that one of
 * them may have changed.
 *
 * A watch carries no state. Its listener runs when a reply of the store brought a new state, when the
 * staleness poller found that another node changed the entity, and when a shard was discarded; it must return
 * at once and read later. It may run without a change. While nothing is watched, a reply costs one comparison
 * per item. The caller bounds how many entities it watches. Kept by the registry, used by `commands.ts`.
 */
import assert from 'node:assert/strict';
import { computeShard, type EntityAddress, type Shard } from '../ids.ts';

export interface Watches {
  /** Watches an entity, whether it exists or not. One watch per entity. Returns a function that ends it. */
  add(address: EntityAddress, onChanged: () => void): () => void;
  /** The entity may have changed. */
  notify(address: EntityAddress): void;
  /** Any entity of the shard may have changed. */
  notifyShard(shard: Shard): void;
  /** Shards with watched entities. */
  listShards(): Iterable<Shard>;
}

export const createWatches = (): Watches => {
  const listeners = new Map<EntityAddress, () => void>();
  const byShard = new Map<Shard, Set<EntityAddress>>();
  return {
    add: (address, onChanged) => {
      assert(!listeners.has(address), 'an entity has one watch');
      listeners.set(address, onChanged);
      const shard = computeShard(address);
      const watched = byShard.get(shard) ?? new Set();
      byShard.set(shard, watched.add(address));
      return () => {
        listeners.delete(address);
        watched.delete(address);
        if (watched.size === 0 && byShard.get(shard) === watched) byShard.delete(shard);
      };
    },
    notify: (address) => {
      if (listeners.size > 0) listeners.get(address)?.();
    },
    notifyShard: (shard) => {
      for (const address of byShard.get(shard) ?? []) listeners.get(address)?.();
    },
    listShards: () => byShard.keys(),
  };
};

/**
 * The watches of this node: which entities are followed outside the engine, and what to call when one of
 * them may have changed.
 *
 * A watch carries no state. Its listener runs when a reply of the store brought a new state, when the
 * staleness poller found that another node changed the entity, and when a shard was discarded; it must return
 * at once and read later. It may run without a change. While nothing is watched, a reply costs one comparison
 * per item. The caller bounds how many entities it watches. Kept by the registry, used by `commands.ts`.
 */
import { computeShard, type EntityAddress, type Shard } from '../ids.ts';

export interface Watches {
  /** Watches an entity, whether it exists or not. Returns a function that ends this watch. */
  add(address: EntityAddress, onChanged: () => void): () => void;
  /** The entity may have changed. */
  notify(address: EntityAddress): void;
  /** Any entity of the shard may have changed. */
  notifyShard(shard: Shard): void;
  /** Shards with watched entities. */
  listShards(): Iterable<Shard>;
  isEmpty(): boolean;
}

export const createWatches = (): Watches => {
  const listeners = new Map<EntityAddress, readonly (() => void)[]>();
  const byShard = new Map<Shard, Set<EntityAddress>>();
  const notify = (address: EntityAddress): void => {
    if (listeners.size === 0) return;
    for (const listener of listeners.get(address) ?? []) listener();
  };
  return {
    add: (address, onChanged) => {
      // Each watch has a listener of its own, so that ending one leaves the others.
      const listener = (): void => onChanged();
      listeners.set(address, [...(listeners.get(address) ?? []), listener]);
      const shard = computeShard(address);
      const watched = byShard.get(shard) ?? new Set();
      byShard.set(shard, watched.add(address));
      return () => {
        const others = (listeners.get(address) ?? []).filter((other) => other !== listener);
        if (others.length > 0) return void listeners.set(address, others);
        listeners.delete(address);
        watched.delete(address);
        if (watched.size === 0 && byShard.get(shard) === watched) byShard.delete(shard);
      };
    },
    notify,
    notifyShard: (shard) => {
      for (const address of byShard.get(shard) ?? []) notify(address);
    },
    listShards: () => byShard.keys(),
    isEmpty: () => listeners.size === 0,
  };
};

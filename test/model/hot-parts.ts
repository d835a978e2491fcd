/**
 * The parts of bots in the hot model: plain maps by listing, shard count and id.
 *
 * Has no rules of its own: `engine/entity/parts.ts` decides. What is due follows from the states, without an
 * index.
 */
import type { Slot } from '../../engine/entity/apply.ts';
import type { PartsEffect, PartsLookups } from '../../engine/entity/parts.ts';
import type { Part } from '../../engine/entity/state.ts';
import {
  computeShard,
  type EntityAddress,
  type EntityRef,
  parseEntityRef,
  toAddress,
} from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';

/** By listing, shard count and id. */
export type ModelParts = Map<string, Map<number, Map<number, Part>>>;

/** What of a shard of the model this file reads. */
interface PartsShard {
  readonly slots: Map<EntityAddress, Slot>;
  readonly parts: ModelParts;
}

export const runPartsEffect = (parts: ModelParts, listing: string, effect: PartsEffect): void => {
  const tables = parts.get(listing) ?? new Map<number, Map<number, Part>>();
  parts.set(listing, tables);
  const table = tables.get(effect.shardCount) ?? new Map<number, Part>();
  if (effect.kind === 'drop_parts') tables.delete(effect.shardCount);
  else if (effect.part === null) table.delete(effect.id);
  else tables.set(effect.shardCount, table.set(effect.id, effect.part));
};

export const lookUpParts = (parts: ModelParts, listing: string): PartsLookups => ({
  part: (shardCount, id) => parts.get(listing)?.get(shardCount)?.get(id) ?? null,
  parts: (shardCount) => parts.get(listing)?.get(shardCount) ?? new Map(),
});

export const createPartsReaders = (world: {
  readonly shards: readonly PartsShard[];
  readonly clock: () => number;
  readonly other: (verb: string) => Promise<void>;
}): Pick<HotStore, 'readParts' | 'listDueParts'> => ({
  async readParts({ id, fromId, limit }) {
    await world.other('parts');
    const address = toAddress('bot', id);
    const shard = world.shards[computeShard(address)] as PartsShard;
    const slot = shard.slots.get(address);
    if (slot?.state == null) return null;
    const { state, incarnation } = slot;
    const table = lookUpParts(shard.parts, `${address} ${incarnation}`).parts(
      state.parts?.current?.shardCount ?? 0,
    );
    const isWanted = (partId: number): boolean => partId >= fromId && partId < fromId + limit;
    return { state, parts: new Map([...table].filter(([partId]) => isWanted(partId))) };
  },
  async listDueParts(shards, limit) {
    await world.other('due parts');
    const due: EntityRef[] = [];
    for (const shard of shards) {
      for (const [address, { state, incarnation }] of (world.shards[shard] as PartsShard).slots) {
        if (state?.parts !== undefined && state.parts.dueMs <= world.clock())
          due.push(parseEntityRef(address, incarnation, shard));
      }
    }
    return due.slice(0, limit);
  },
});

/**
 * Measures the memory of one live actor, without profile text and shard list: the heap before and after many
 * of them, each time after garbage collection.
 *
 * Uses the engine's own registry in this process, filled with states as the store's replies bring them: new
 * text for every entity.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRegistry } from '../../engine/actors/registry.ts';
import { emptyFacts, emptyTotals, toLazyState } from '../../engine/entity/state.ts';
import { createEntityRef, shardsTotal, toIncarnation, toShard } from '../../engine/ids.ts';
import type { EngineMeters } from '../../engine/ports.ts';
import { toGrownId } from '../servers/fill.ts';

const actors = 50_000;

/** Returns bytes per actor. */
export const measureActors = async (): Promise<number> => {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  const meters = new Proxy({}, { get: () => () => {} }) as EngineMeters;
  const registry = createRegistry({
    actorsMax: actors,
    meters,
    activate: async (kind, id) => {
      const index = Number(id.slice(-9));
      const totals = { ...emptyTotals, clicks: index, servers: String(index), users: String(index * 7) };
      const state = { ...totals, facts: { ...emptyFacts }, flushedVotes: 0, version: index };
      const listing = {
        kind,
        id,
        incarnation: toIncarnation(index + 1),
        shard: toShard(index % shardsTotal),
      };
      return { ref: createEntityRef(listing), generation: 1, state: toLazyState(state) };
    },
  });
  await registry.getOrActivate('bot', toGrownId(0));
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 1; index < actors; index++) await registry.getOrActivate('bot', toGrownId(index));
  collect();
  const after = process.memoryUsage().heapUsed;
  if (registry.countActors() !== actors)
    throw new Error(`${registry.countActors()} actors live, not ${actors}`);
  return Math.round((after - before) / (actors - 1));
};

/**
 * Whole engines on the same model stores, in virtual time: for tests of what nodes see of others' writes.
 */
import type { Engine, EntityView } from '../../../engine/engine.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { createEngineOn, createKit, type Kit } from '../kit.ts';

export interface World extends Kit {
  readonly polled: number[];
  start(name: string): Promise<Engine>;
  see(engine: Engine, id: string): Promise<EntityView>;
}

interface WorldOptions {
  readonly hot?: ((hot: HotStore) => HotStore) | undefined;
  readonly shared?: boolean;
}

/** Engines that share the model stores. */
export const createWorld = async (options: WorldOptions = {}): Promise<World> => {
  const kit = await createKit({ published: false });
  const polled: number[] = [];
  const counted: HotStore = {
    ...kit.hot,
    readVersions: (shards) => {
      polled.push(shards.length);
      return kit.hot.readVersions(shards);
    },
  };
  const start = async (name: string): Promise<Engine> => {
    const engine = createEngineOn(kit, {
      hot: options.hot?.(counted) ?? counted,
      producer: name,
      actorsMax: 1_000,
      shared: options.shared ?? true,
    });
    await kit.until(engine.start());
    return engine;
  };
  return {
    ...kit,
    polled,
    start,
    see: (engine, id) => kit.until(Promise.resolve(engine.read('bot', id))),
  };
};

/** Whether the engine shows the entity without a load. */
export const isLive = (engine: Engine, id: string): boolean => !(engine.read('bot', id) instanceof Promise);

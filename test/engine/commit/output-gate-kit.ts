/**
 * An output gate on the model store, for its tests: what it sent, what it adopted, how it recovers.
 *
 * Not a test file. The store fails only through the model's hooks.
 */

import { createOutputGate, type OutputGate } from '../../../engine/commit/output-gate.ts';
import type { Turn } from '../../../engine/commit/shard-queue.ts';
import type { Batch, BatchReply } from '../../../engine/entity/items.ts';
import { rules } from '../../sim/plan.ts';
import { botRef, createKit, initOf, type Kit, type KitOptions, publishAll, recordedTurn } from '../kit.ts';

export const ref = botRef('one');

export interface World extends Kit {
  readonly gate: OutputGate;
  readonly sent: Batch[];
  readonly adopted: { readonly reply: BatchReply; readonly foreign: boolean }[];
  /** What `recover` does, and how often it was called. */
  recovery: { run: () => Promise<void>; times: number };
  submit<Submitted extends Turn>(turn: Submitted): Submitted;
  /** What `reactivate` does with a lost entity; resolves to whether it exists. */
  reactivate: () => Promise<boolean>;
}

export const createWorld = async (options: KitOptions = {}): Promise<World> => {
  const kit = await createKit(options);
  const sent: Batch[] = [];
  kit.hot.hooks.beforeCommit = (batches) => {
    sent.push(...batches);
  };
  const adopted: World['adopted'] = [];
  const recovery = { times: 0, run: () => publishAll(kit.hot, recovery.times + 1) };
  const outputGate = createOutputGate({
    hot: kit.hot,
    clock: kit.clock,
    meters: kit.meters,
    producer: 'node',
    rules,
    adopt: (_batch, reply, foreign) => adopted.push({ reply, foreign }),
    recover: async () => {
      recovery.times += 1;
      await recovery.run();
      return Math.max(...kit.hot.shards.map(({ generation }) => generation));
    },
    reactivate: () => world.reactivate(),
  });
  const submit = <Submitted extends Turn>(turn: Submitted): Submitted => {
    outputGate.submit(turn);
    return turn;
  };
  const world: World = {
    ...kit,
    gate: outputGate,
    sent,
    adopted,
    recovery,
    submit,
    reactivate: async () => false,
  };
  return world;
};

/** The world with one initialised bot. */
export const withBot = async (options: KitOptions = {}): Promise<World> => {
  const world = await createWorld(options);
  world.submit(recordedTurn(initOf(ref)));
  await world.pass(1);
  world.sent.length = 0;
  world.adopted.length = 0;
  return world;
};

export const failCommits = (world: World, errors: (Error | null)[], after = false): void => {
  const hook = (batches: readonly Batch[]): void => {
    world.sent.push(...batches);
    const error = errors.shift();
    if (error) throw error;
  };
  world.hot.hooks = after ? { afterCommit: hook } : { beforeCommit: hook };
};

/** Takes a snapshot of the store, and returns a function that restores it. */
export const snapshot = ({ hot }: World): (() => void) => {
  const before = structuredClone(hot.shards);
  return () => {
    for (const [index, shard] of structuredClone(before).entries())
      Object.assign(hot.shards[index] as object, shard);
  };
};

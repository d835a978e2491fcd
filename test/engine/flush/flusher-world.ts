/**
 * A flusher on the model stores and a virtual clock, with a record of what it wrote and acknowledged.
 */

import type { Item } from '../../../engine/entity/items.ts';
import { createFlusher, type Flusher } from '../../../engine/flush/flusher.ts';
import type { EntityRef, Shard } from '../../../engine/ids.ts';
import type { Backlog, FlushReceipt, Ledger } from '../../../engine/ports.ts';
import { rules } from '../../sim/plan.ts';
import { createKit, epochMs, type Kit } from '../kit.ts';

export interface World extends Kit {
  readonly flusher: Flusher;
  readonly rounds: { readonly atMs: number; readonly round: Backlog }[];
  readonly receipts: FlushReceipt[];
  /** The backlog's age as reported to the meters, round by round. */
  readonly lagsMs: number[];
  delivered: number;
  /** How many deliveries find an open adjustment from now on. */
  open: number;
  /** Whether deliveries fail. */
  fails: boolean;
  /** The shards that the flusher flushes. */
  shards: readonly Shard[] | null;
  /** Runs before every flush; if it throws, the flush fails with that error. */
  before: (round: Backlog) => Promise<void> | void;
}

export const createWorld = async (): Promise<World> => {
  const kit = await createKit();
  const rounds: World['rounds'] = [];
  const receipts: FlushReceipt[] = [];
  const lagsMs: number[] = [];
  const ledger = {
    flush: async (round: Backlog) => {
      await world.before(round);
      await kit.ledger.port.flush(round);
      rounds.push({ atMs: kit.driver.nowMs(), round });
    },
    writeDeadLetter: kit.ledger.port.writeDeadLetter,
  };
  const world: World = {
    ...kit,
    rounds,
    receipts,
    lagsMs,
    delivered: 0,
    open: 0,
    fails: false,
    shards: null,
    before: () => {},
    flusher: createFlusher({
      hot: kit.hot,
      ledger: ledger as unknown as Ledger,
      clock: kit.clock,
      meters: { ...kit.meters, recordBacklog: (_, oldestAgeMs) => void lagsMs.push(oldestAgeMs) },
      intervalMs: 1_000,
      listShards: () => world.shards,
      onFlushed: (receipt) => receipts.push(receipt),
      reconcile: async () => {},
      deliver: async () => {
        if (world.fails) throw new Error('no answer');
        world.delivered += 1;
        world.open -= 1;
        return world.open >= 0 ? 1 : 0;
      },
    }),
  };
  return world;
};

let producers = 0;
export const commit = async (world: World, ...items: Item[]): Promise<void> => {
  for (const item of items) {
    producers += 1;
    const producer = `test ${producers}`;
    await world.hot.commit([{ shard: item.target.shard, producer, sequence: 1, items: [item] }], rules);
  }
};
export const found = (world: World, id: string): EntityRef => world.ledger.list('bot', id);
export const voteOf = (target: EntityRef, user: string, itag: string): Item => ({
  kind: 'vote',
  target,
  user,
  upvote: true,
  atMs: epochMs,
  itags: [itag, `${itag}b`],
});

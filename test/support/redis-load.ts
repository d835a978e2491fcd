/**
 * Clicks sent to a Redis hot store while something happens to its servers, and the count of what was
 * acknowledged.
 *
 * It behaves like the engine's output gate: a batch keeps its number until its outcome is known, and a
 * definite refusal lets the number be used again. Every click has a visitor of its own, so a click counted
 * twice or half shows in the totals.
 */
import * as assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, BatchReply, InitItem, Item } from '../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../engine/entity/state.ts';
import { StorageError } from '../../engine/errors.ts';
import { type EntityRef, listAllShards, type Shard } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import { assertIncludes } from './assert-includes.ts';
import { refOf } from './refs.ts';
import { usualRules } from './rules.ts';

export const rules = { ...usualRules, visitorsMax: 1_000_000 };

/** One bot in each of the given number of shards. */
export const botsIn = (shards: number): readonly EntityRef[] => {
  const found = new Map<Shard, EntityRef>();
  for (let number = 1; found.size < shards; number++) {
    const bot = refOf('bot', String(number), 1);
    if (!found.has(bot.shard)) found.set(bot.shard, bot);
  }
  return [...found.values()];
};

export const initOf = (target: EntityRef): InitItem => ({
  kind: 'init',
  target,
  facts: { ...emptyFacts, listed: true },
  totals: emptyTotals,
  row: { generation: 0, version: 0 },
});

export const publishAll = (store: HotStore, generation = 1): Promise<void> =>
  store.publish(listAllShards().map((shard) => ({ shard, generation })));

/** The rejection of a call, which must be a `StorageError`. */
export const rejection = async (call: Promise<unknown>): Promise<StorageError> => {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StorageError, `no StorageError: ${failure}`);
  return failure;
};

export interface Load {
  /** Sends one batch of clicks to each bot; resolves when all are acknowledged. */
  round(): Promise<void>;
  /** Clicks acknowledged so far, per bot. */
  readonly acknowledged: number;
  /** Rejections met, by `outcome reason`. */
  readonly met: Map<string, number>;
}

const patienceMs = 60_000;

/** Resends the same batches until their outcome is known; counts the rejections. */
export const sendUntilKnown = async (
  store: HotStore,
  batches: readonly Batch[],
  met: Map<string, number>,
): Promise<readonly BatchReply[]> => {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return await store.commit(batches, rules);
    } catch (error) {
      if (!(error instanceof StorageError) || Date.now() > deadline) throw error;
      const word = `${error.outcome} ${error.reason}`;
      met.set(word, (met.get(word) ?? 0) + 1);
      await pause(10);
    }
  }
};

/**
 * A source of clicks on some bots, each with `clicks` per batch. The first round initialises the bots.
 */
export const createLoad = (store: HotStore, bots: readonly EntityRef[], clicks = 20): Load => {
  let rounds = 0;
  const met = new Map<string, number>();
  const batchOf = (target: EntityRef): Batch => {
    const items = Array.from({ length: clicks }, (_, index): Item => {
      return { kind: 'click', target, visitor: String(rounds * clicks + index) };
    });
    return { shard: target.shard, producer: 'load', sequence: rounds + 1, items: [initOf(target), ...items] };
  };
  return {
    met,
    get acknowledged() {
      return rounds * clicks;
    },
    async round() {
      const queues = Map.groupBy(bots.map(batchOf), ({ shard }) => store.toCommitQueue(shard));
      const replies = await Promise.all(
        [...queues.values()].map((queue) => sendUntilKnown(store, queue, met)),
      );
      for (const { outcome } of replies.flat()) {
        assertIncludes(['applied', 'duplicate'], outcome, `a batch was answered ${outcome}`);
      }
      rounds += 1;
    },
  };
};

/** Clicks and unique clicks of each bot, as the store reports them. */
export const clicksOf = async (store: HotStore, bots: readonly EntityRef[]): Promise<readonly number[][]> => {
  const replies = await store.load(bots.map(({ kind, id }) => ({ kind, id })));
  return replies.map((reply) =>
    reply.outcome === 'found' ? [reply.state.clicks, reply.state.uniqueClicks] : [],
  );
};

/**
 * The engine's assertions between its parts: what only a bug can cause is refused, and nothing of it is
 * adopted.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Actor } from '../../engine/actors/actor.ts';
import { createRegistry } from '../../engine/actors/registry.ts';
import {
  type CommitQueue,
  CommitQueues,
  enqueue,
  sealQueues,
  setMode,
  takeSealed,
} from '../../engine/commit/commit-queue.ts';
import { addOpen, assertReplies, createShardQueue, seal } from '../../engine/commit/shard-queue.ts';
import type { BatchReply } from '../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, toLazyState } from '../../engine/entity/state.ts';
import { createFlusher } from '../../engine/flush/flusher.ts';
import { renewGenerations } from '../../engine/flush/generations.ts';
import { limits } from '../../engine/limits.ts';
import { adoptReply } from '../../engine/turns.ts';
import { ref, withBot } from './commit/output-gate-kit.ts';
import { clickOn, createEngineOn, createKit, recordedTurn } from './kit.ts';

const test = suite('assertions');

const stateAt = (version: number) =>
  toLazyState({ ...emptyTotals, facts: emptyFacts, flushedVotes: 0, version });
const replyOf = (change: Partial<BatchReply> = {}): BatchReply => ({
  outcome: 'applied',
  lastSequence: 1,
  version: 5,
  chainHash: 0,
  generation: 1,
  decisions: [{ kind: 'applied' }],
  states: [stateAt(5)],
  ...change,
});

/** A commit queue with one click in the open batch of one shard queue. */
const createQueueWithClick = (): CommitQueue => {
  const commitQueue = new CommitQueues({ toCommitQueue: () => 0 }).get(ref.shard);
  const shardQueue = createShardQueue(ref.shard, 'node', false);
  addOpen(shardQueue, recordedTurn(clickOn(ref)));
  enqueue(commitQueue, shardQueue);
  return commitQueue;
};

test('a commit queue changes only to a mode that may follow', () => {
  const commitQueue = createQueueWithClick();

  assert.throws(() => setMode(commitQueue, 'recovering'), /cannot go from quiet to recovering/);
  setMode(commitQueue, 'gathering');
  assert.throws(() => setMode(commitQueue, 'gathering'), /cannot go from gathering to gathering/);
  assert.throws(() => setMode(commitQueue, 'resending'), /cannot go from gathering to resending/);
});

test('a commit queue has sealed batches exactly while a call is in flight or waits to be resent', () => {
  const commitQueue = createQueueWithClick();
  setMode(commitQueue, 'gathering');

  assert.throws(() => setMode(commitQueue, 'in flight'), /in flight with 0 sealed batches/);
  sealQueues(commitQueue, limits.batchItemsMax);
  assert.throws(() => setMode(commitQueue, 'quiet'), /quiet with 1 sealed batches/);
  setMode(commitQueue, 'in flight');
  takeSealed(commitQueue);
  assert.throws(() => setMode(commitQueue, 'resending'), /resending with 0 sealed batches/);
  setMode(commitQueue, 'quiet');
});

test('a reply fits its batch: how many, which number, one decision and one state for each item', () => {
  const shardQueue = createShardQueue(ref.shard, 'node', false);
  addOpen(shardQueue, recordedTurn(clickOn(ref)));
  const sealed = [seal(shardQueue, 1) as NonNullable<ReturnType<typeof seal>>];

  assertReplies(sealed, [replyOf()]);
  assertReplies(sealed, [replyOf({ outcome: 'duplicate', lastSequence: 7, decisions: null })]);
  assertReplies(sealed, [replyOf({ outcome: 'gap', lastSequence: 0, decisions: null })]);
  assert.throws(() => assertReplies(sealed, []), /0 replies to 1 batches/);
  assert.throws(() => assertReplies(sealed, [replyOf({ lastSequence: 0 })]), /an answered batch is applied/);
  assert.throws(() => assertReplies(sealed, [replyOf({ decisions: [] })]), /one decision for each item/);
  assert.throws(() => assertReplies(sealed, [replyOf({ states: [] })]), /one state for each item/);
  shardQueue.sequence = 1;
  assert.throws(() => assertReplies(sealed, [replyOf()]), /the number after the last one applied/);
});

test('a reply that does not fit ends the process, and no client gets a wrong decision', async () => {
  const world = await withBot();
  const { commit } = world.hot;
  world.hot.commit = async (...call) => (await commit(...call)).map((reply) => ({ ...reply, states: [] }));
  let uncaught: unknown = null;
  const note = (error: unknown): void => {
    uncaught = error;
  };
  process.once('unhandledRejection', note);

  const turn = world.submit(recordedTurn(clickOn(ref), world.clock.monotonicMs() + 100));
  await world.pass(200);
  process.off('unhandledRejection', note);

  assert.match(String(uncaught), /one state for each item/);
  assert.equal([turn.decided, turn.failure?.outcome], [null, 'unknown']);
  assert.is(world.adopted.length, 0);
});

test('an actor stays within one generation, and a state is not newer than its shard', async () => {
  const kit = await createKit();
  const actor = new Actor(ref, 1, stateAt(4));
  const registry = createRegistry({
    actorsMax: 9,
    meters: kit.meters,
    activate: async () => ({ ref, generation: 1, state: stateAt(4) }),
  });
  const batch = { shard: ref.shard, producer: 'node', sequence: 1, items: [clickOn(ref)] };

  assert.throws(() => actor.adopt(2, stateAt(5)), /two generations/);
  const newer = { reply: replyOf({ states: [stateAt(6)] }), foreign: false };
  assert.throws(() => adoptReply(registry, batch, newer), /not newer than its shard/);
});

test('a flusher is started once, and an engine that drains is not started', async () => {
  const kit = await createKit({ published: false });
  const flusher = createFlusher({
    ...kit,
    ledger: kit.ledger.port,
    intervalMs: 1_000,
    listShards: () => null,
    onFlushed: () => {},
    deliver: async () => 0,
    reconcile: async () => {},
  });
  const engine = createEngineOn(kit);

  flusher.start();
  assert.throws(() => flusher.start(), /cannot go from waiting to waiting/);
  await kit.until(engine.drain(kit.clock.monotonicMs() + 100));
  const refusal = await kit.until(engine.start().catch(String));
  assert.match(String(refusal), /cannot go from draining to started/);
});

test('a generation that the ledger issues is greater than any before', async () => {
  const kit = await createKit();
  const ledger = { ...kit.ledger.port, takeGeneration: async () => 1 };

  const refusal = await kit.until(renewGenerations(kit.hot, ledger, [ref.shard]).catch(String));

  assert.match(String(refusal), /greater than any before/);
});

test('a vote window is not longer than the stores keep last votes', async () => {
  const kit = await createKit();
  const standard = { waitMs: limits.voteBucketMs + 1, perUser: 1 };
  const windows = { ...kit.rules.windows, standard };

  const create = () => createEngineOn(kit, { rules: { ...kit.rules, windows } });

  assert.throws(create, /a vote window is longer than last votes are stored/);
});

test.run();

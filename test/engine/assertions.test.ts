/**
 * The engine's assertions at its seams: what cannot be unless there is a bug is refused, and nothing of it is
 * taken over.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Actor } from '../../engine/actor.ts';
import { createEngine } from '../../engine/create.ts';
import { held } from '../../engine/entity/held.ts';
import type { BatchReply } from '../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../engine/entity/state.ts';
import { createFlusher } from '../../engine/flusher.ts';
import { renewGenerations } from '../../engine/generations.ts';
import { type Lane, Lanes, list, sealLines, setMode, takeSealed } from '../../engine/lane.ts';
import { limits } from '../../engine/limits.ts';
import { createRegistry } from '../../engine/registry.ts';
import { addOpen, assertReplies, createLine, seal } from '../../engine/shard.ts';
import { adopt } from '../../engine/turns.ts';
import { rules } from '../sim/plan.ts';
import { ref, withBot } from './gate-kit.ts';
import { clickOn, createKit, recordedTurn } from './kit.ts';

const test = suite('assertions');

const stateAt = (version: number) => held({ ...emptyTotals, facts: emptyFacts, flushedVotes: 0, version });
const replyOf = (change: Partial<BatchReply> = {}): BatchReply => ({
  outcome: 'applied',
  lastSequence: 1,
  version: 5,
  mark: 0,
  generation: 1,
  decisions: [{ kind: 'applied' }],
  states: [stateAt(5)],
  ...change,
});

/** A lane with one click in the open batch of one line. */
const laneWithClick = (): Lane => {
  const lane = new Lanes({ laneOf: () => 0 }).of(ref.shard);
  const line = createLine(ref.shard, 'node');
  addOpen(line, recordedTurn(clickOn(ref)));
  list(lane, line);
  return lane;
};

test('a lane goes only from a mode to one that can follow it', () => {
  const lane = laneWithClick();

  assert.throws(() => setMode(lane, 'recovering'), /cannot go from quiet to recovering/);
  setMode(lane, 'gathering');
  assert.throws(() => setMode(lane, 'gathering'), /cannot go from gathering to gathering/);
  assert.throws(() => setMode(lane, 'resending'), /cannot go from gathering to resending/);
});

test('a lane has sealed batches exactly while a call is out or is to be sent again', () => {
  const lane = laneWithClick();
  setMode(lane, 'gathering');

  assert.throws(() => setMode(lane, 'in flight'), /in flight with 0 batches/);
  sealLines(lane, limits.batchItemsMax);
  assert.throws(() => setMode(lane, 'quiet'), /quiet with 1 batches/);
  setMode(lane, 'in flight');
  takeSealed(lane);
  assert.throws(() => setMode(lane, 'resending'), /resending with 0 batches/);
  setMode(lane, 'quiet');
});

test('a reply fits its batch: how many, which number, one decision and one state for each item', () => {
  const line = createLine(ref.shard, 'node');
  addOpen(line, recordedTurn(clickOn(ref)));
  const sealed = [seal(line, 1) as NonNullable<ReturnType<typeof seal>>];

  assertReplies(sealed, [replyOf()]);
  assertReplies(sealed, [replyOf({ outcome: 'duplicate', lastSequence: 7, decisions: null })]);
  assertReplies(sealed, [replyOf({ outcome: 'gap', lastSequence: 0, decisions: null })]);
  assert.throws(() => assertReplies(sealed, []), /0 replies to 1 batches/);
  assert.throws(() => assertReplies(sealed, [replyOf({ lastSequence: 0 })]), /an answered batch is applied/);
  assert.throws(() => assertReplies(sealed, [replyOf({ decisions: [] })]), /one decision for each item/);
  assert.throws(() => assertReplies(sealed, [replyOf({ states: [] })]), /one state for each item/);
  line.sequence = 1;
  assert.throws(() => assertReplies(sealed, [replyOf()]), /the number after the last one applied/);
});

test('a reply that does not fit ends the process, and no client is told a wrong decision', async () => {
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
  assert.throws(() => adopt(registry, batch, newer), /not newer than its shard/);
});

test('a flusher is started once, and an engine that drains is not started', async () => {
  const kit = await createKit({ published: false });
  const flusher = createFlusher({
    ...kit,
    ledger: kit.ledger.port,
    intervalMs: 1_000,
    shards: () => null,
    flushed: () => {},
    deliver: async () => 0,
    meet: async () => {},
  });
  const engine = createEngine({
    ...kit,
    ledger: kit.ledger.port,
    producer: 'node',
    rules: () => rules,
    visitorSecret: new Uint8Array(32),
    newId: () => 'id',
    flushIntervalMs: 1_000,
    actorsMax: 9,
    reflush: false,
  });

  flusher.start();
  assert.throws(() => flusher.start(), /cannot go from waiting to waiting/);
  await kit.until(engine.drain(kit.clock.monotonicMs() + 100));
  const refusal = await kit.until(engine.start().catch(String));
  assert.match(String(refusal), /cannot go from draining to started/);
});

test('a generation that the ledger gives out is greater than any before', async () => {
  const kit = await createKit();
  const ledger = { ...kit.ledger.port, nextGeneration: async () => 1 };

  const refusal = await kit.until(renewGenerations(kit.hot, ledger, [ref.shard]).catch(String));

  assert.match(String(refusal), /greater than any before/);
});

test.run();

/**
 * The output gate when the store lost data, or when other nodes also wrote.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InitItem, Item } from '../../../engine/entity/items.ts';
import { emptyTotals } from '../../../engine/entity/state.ts';
import type { ModelShard } from '../../model/hot-model.ts';
import { rules } from '../../sim/plan.ts';
import {
  botRef,
  clickOn,
  epochMs,
  initOf,
  type KitOptions,
  publishAll,
  type RecordedTurn,
  recordedTurn,
  refusal,
  silence,
  stateIn,
} from '../kit.ts';
import { createWorld, failCommits, ref, snapshot, withBot } from './output-gate-kit.ts';

const test = suite('output gate: losses');

let world: Awaited<ReturnType<typeof withBot>>;
test.before.each(async () => {
  world = await withBot();
});

test('a gap is recovered before anything is sent, then the turns go under a new name', async () => {
  world.hot.shards[ref.shard]?.producers.clear();
  world.recovery.run = async () => {
    assert.is(world.sent.length, 1);
    await world.driver.pause(20);
  };

  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(10);
  world.submit(recordedTurn(clickOn(ref)));
  assert.is(world.sent.length, 1);
  await world.pass(50);

  assert.is(world.recovery.times, 1);
  assert.equal(
    world.sent.map((batch) => [batch.producer, batch.sequence, batch.items.length]),
    [
      ['node', 2, 1],
      ['node~1', 1, 2],
    ],
  );
  assert.is(turn.decided?.decision.kind, 'applied');
  assert.is(stateIn(world.hot, ref)?.clicks, 2);
  assert.is(world.metered.get('gap'), 1);
});

test('a store without a generation is recovered, and nothing is lost', async () => {
  const world = await createWorld({ published: false });

  const turn = world.submit(recordedTurn(initOf(ref)));
  await world.pass(10);

  assert.is(world.recovery.times, 1);
  assert.is(world.metered.get('uninitialised'), 1);
  assert.is(turn.decided?.decision.kind, 'applied');
});

test('while recovery fails the turns fail as not applied, and the shard stays closed', async () => {
  world.hot.shards[ref.shard]?.producers.clear();
  world.recovery.run = () => Promise.reject(refusal());

  const first = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(10);
  const second = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(10);
  assert.equal([first.failure?.outcome, second.failure?.outcome], ['not_applied', 'not_applied']);
  assert.is(world.sent.length, 1);
  assert.ok(world.gate.findFailure() instanceof Error);
  world.recovery.run = async () => {};
  const third = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(10);

  assert.is(third.decided?.decision.kind, 'applied');
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
  assert.is(world.gate.findFailure(), null);
});

test('a shard that cannot recover does not stop the others of its commit queue', async () => {
  const other = botRef('other');
  assert.is.not(other.shard, ref.shard);
  world.hot.shards[ref.shard]?.producers.clear();
  world.recovery.run = () => Promise.reject(refusal());

  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(10);
  world.submit(recordedTurn(clickOn(ref)));
  const turn = world.submit(recordedTurn(initOf(other)));
  await world.pass(10);

  assert.is(turn.decided?.decision.kind, 'applied');
});

test('a batch of unknown outcome that meets a gap fails as unknown, and is never renumbered', async () => {
  failCommits(world, [silence()]);

  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);
  world.hot.shards[ref.shard]?.producers.clear();
  await world.pass(100);

  assert.is(turn.failure?.outcome, 'unknown');
  assert.is(stateIn(world.hot, ref)?.clicks, 0);
});

test('a first batch whose reply is lost does not count again in an emptied store', async () => {
  const world = await createWorld({ mayLoseTail: true });
  const shard = world.hot.shards[ref.shard] as ModelShard;
  const empty = snapshot(world);
  const initialise = (producer: string, init: InitItem) =>
    world.hot.commit([{ shard: ref.shard, producer, sequence: 1, items: [init] }], rules);
  await initialise('other node', initOf(ref));
  let lost = false;
  world.hot.hooks.afterCommit = (batches) => {
    if (lost || !batches.some(({ producer, items }) => producer === 'node' && items.length > 0)) return;
    lost = true;
    throw silence();
  };

  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);
  const totals = { ...emptyTotals, clicks: stateIn(world.hot, ref)?.clicks ?? 0 };
  const row = { generation: shard.generation, version: shard.version };
  empty();
  await publishAll(world.hot, 2);
  await initialise('other node~1', { ...initOf(ref), totals, row });
  await world.pass(100);

  assert.is(turn.failure?.outcome, 'unknown');
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
});

test('if the empty first batch is refused, the turns behind it are not sent and not applied', async () => {
  const world = await createWorld({ mayLoseTail: true });
  failCommits(world, [refusal()]);
  const turn = world.submit(recordedTurn(initOf(ref)));
  await world.pass(10);

  assert.is(turn.failure?.outcome, 'not_applied');
  assert.equal(
    world.sent.map(({ sequence, items }) => [sequence, items.length]),
    [[1, 0]],
  );
  assert.is(world.gate.countPending(), 0);
});

const voteAt = (atMs: number): Item => ({
  kind: 'vote',
  target: ref,
  user: 'ann',
  upvote: true,
  atMs: epochMs + atMs,
  itags: [`${atMs} a`, `${atMs} b`],
});

/** The reply to a vote and a click is lost, and so is their effect. They are resent after `meanwhile`. */
const sendAgainAfter = async (options: KitOptions, meanwhile: (shard: ModelShard) => void) => {
  const world = await withBot(options);
  const shard = world.hot.shards[ref.shard] as ModelShard;
  const before = structuredClone(shard);
  failCommits(world, [silence()], true);
  const turns = [voteAt(2), clickOn(ref)].map((item) => world.submit(recordedTurn(item)));
  await world.pass(5);
  Object.assign(shard, before);
  meanwhile(shard);
  const batch = { shard: ref.shard, producer: 'other node', sequence: 1, items: [voteAt(1)] };
  await world.hot.commit([batch], rules);
  await world.pass(50);
  return turns.map(({ decided, failure }) => failure?.outcome ?? decided?.decision.kind);
};

test('after a loss, a batch sent again is answered only where it counts', async () => {
  assert.equal(await sendAgainAfter({ mayLoseTail: true }, () => {}), ['unknown', 'applied']);
  const renewed = (shard: ModelShard): void => {
    shard.generation += 1;
  };
  assert.equal(await sendAgainAfter({}, renewed), ['unknown', 'applied']);
});

test('in a store that loses nothing, every decision about a batch sent again is an answer', async () => {
  assert.equal(await sendAgainAfter({}, () => {}), ['refused', 'applied']);
});

test('a version that fell is a loss: the shard gets a new generation', async () => {
  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);
  const shard = world.hot.shards[ref.shard];
  if (shard) shard.version = 0;

  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(5);

  assert.is(world.recovery.times, 1);
  assert.is(world.metered.get('version_regressed'), 1);
});

test('after a lost tail no change is acknowledged until the shard has a new generation', async () => {
  const shard = world.hot.shards[ref.shard];
  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);
  if (shard) shard.version = 0;

  const deadlineMs = world.clock.monotonicMs() + 1_000;
  const [first, resent] = [deadlineMs, Number.POSITIVE_INFINITY].map((endMs) =>
    world.submit(recordedTurn(clickOn(ref), endMs)),
  ) as [RecordedTurn, RecordedTurn];
  await world.pass(5);
  const second = world.submit(recordedTurn(clickOn(ref), deadlineMs));
  await world.pass(5);

  assert.is(resent.decided?.decision.kind, 'applied');
  assert.equal(first.failure, { outcome: 'unknown', code: 'store_unavailable' });
  assert.is(second.decided?.decision.kind, 'applied');
});

test('a store that loses the new generation, too, acknowledges no change before the next one', async () => {
  world.hot.shards[ref.shard]?.producers.clear();
  const restore = snapshot(world);
  world.hot.hooks.beforeCommit = ([batch]) => {
    if (world.recovery.times === 1 && batch?.sequence === 1) restore();
  };

  const deadlineMs = world.clock.monotonicMs() + 1_000;
  const first = world.submit(recordedTurn(clickOn(ref), deadlineMs));
  await world.pass(5);
  const second = world.submit(recordedTurn(clickOn(ref), deadlineMs));
  await world.pass(5);

  // Counted, but a start would empty the shard now: SQL knows of the lost generation.
  assert.equal(first.failure, { outcome: 'unknown', code: 'store_unavailable' });
  assert.is(second.decided?.generation, 3);
  assert.is(world.metered.get('version_regressed'), 1);
});

test('writes of other nodes are noticed by the version they leave', async () => {
  const producer = 'other node';
  await world.hot.commit([{ shard: ref.shard, producer, sequence: 1, items: [clickOn(ref)] }], rules);

  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);
  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);

  assert.equal(
    world.adopted.map(({ foreign }) => foreign),
    [true, false],
  );
});

test('a batch that changed nothing is not taken for a foreign write', async () => {
  world.submit(recordedTurn(clickOn(botRef('one', 9))));
  await world.pass(2);

  assert.equal(
    world.adopted.map(({ foreign }) => foreign),
    [false],
  );
});

test.run();

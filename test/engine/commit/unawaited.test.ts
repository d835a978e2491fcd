/**
 * Turns that no caller waits for, such as clicks: a store that refuses or loses them gets them again.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Turn } from '../../../engine/commit/shard-queue.ts';
import { limits } from '../../../engine/limits.ts';
import { botRef, clickOn, initOf, publishAll, recordedTurn, refusal, silence, stateIn } from '../kit.ts';
import { failCommits, ref, snapshot, type World, withBot } from './output-gate-kit.ts';

const test = suite('unawaited turns');

const click = (world: World): Turn => world.submit(new Turn(clickOn(ref), Number.POSITIVE_INFINITY, null));
const countClicks = (world: World): number | undefined => stateIn(world.hot, ref)?.clicks;

const countItems = (world: World): number[] => world.sent.map((batch) => batch.items.length);

test('a call without waiters gathers longer at a high rate, and longest at a low one', async () => {
  const world = await withBot();
  click(world);
  click(world);
  await world.pass(limits.gatherUnawaitedMsMax - 1);
  assert.is(world.sent.length, 0, 'gathering');
  await world.pass(2);
  assert.equal(countItems(world), [2]);

  const items = limits.gatherAverageMs * limits.gatherItemsPerMsMin * 10;
  world.hot.hooks.beforeCommit = async (batches) => {
    world.sent.push(...batches);
    await world.driver.pause(1);
  };
  world.sent.length = 0;
  for (let index = 0; index < items; index++) click(world);
  await world.pass(limits.gatherUnawaitedMsMax);
  click(world);
  await world.pass(limits.gatherUnawaitedMs);
  assert.is(world.sent.length, 1, 'gathering behind the call');
  await world.pass(2);
  assert.equal(countItems(world), [items, 1]);
});

test('a turn with a waiter soon sends its commit queue, with the turns that have none', async () => {
  const world = await withBot();
  click(world);
  await world.pass(5);
  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(1);
  assert.equal(countItems(world), [2]);

  await world.pass(limits.gatherUnawaitedMsMax * 2);
  assert.is(world.sent.length, 1, 'the longer wait is over and sends nothing');
});

test('a turn with a waiter soon sends the other commit queues that gather without one, too', async () => {
  const world = await withBot();
  const other = botRef('two');
  Object.assign(world.hot, { toCommitQueue: (shard: number) => Number(shard !== ref.shard) });
  assert.is.not(other.shard, ref.shard);
  world.submit(recordedTurn(initOf(other)));
  await world.pass(1);
  world.sent.length = 0;

  click(world);
  await world.pass(5);
  world.submit(recordedTurn(clickOn(other)));
  await world.pass(1);

  assert.is(world.sent.length, 2);
});

test('a click that the store refuses is sent again after a pause, until it counts', async () => {
  const world = await withBot();
  failCommits(world, [refusal(), refusal()]);

  click(world);
  await world.pass(limits.gatherUnawaitedMsMax + 5);
  assert.is(world.sent.length, 1);
  await world.pass(1_000);

  assert.is(countClicks(world), 1);
  assert.is(world.sent.length, 3);
  assert.is(world.gate.countPending(), 0);
});

test('refused clicks leave room for other turns', async () => {
  const world = await withBot();
  world.hot.hooks.beforeCommit = () => {
    throw refusal();
  };
  for (let turn = 0; turn < limits.pendingItemsMax; turn++) click(world);
  await world.pass(500);
  assert.is(world.gate.countPending(), limits.pendingUnawaitedMax);

  world.hot.hooks = {};
  await world.pass(5_000);

  assert.is(countClicks(world), limits.pendingUnawaitedMax);
});

test('a click waits while its shard cannot recover', async () => {
  const world = await withBot();
  world.hot.shards[ref.shard]?.producers.clear();
  world.recovery.run = () => Promise.reject(refusal());

  click(world);
  await world.pass(1_000);
  assert.is(countClicks(world), 0);
  world.recovery.run = async () => {};
  await world.pass(1_000);

  assert.is(countClicks(world), 1);
});

for (const comesBack of [false, true]) {
  const ending = comesBack ? 'comes back' : 'is lost';
  test(`a click without an answer counts once if its batch ${ending}`, async () => {
    const world = await withBot({ mayLoseTail: true });
    const before = snapshot(world);
    world.submit(recordedTurn(clickOn(ref, '1')));
    await world.pass(1);
    failCommits(world, [silence()], true);
    click(world);
    await world.pass(limits.gatherUnawaitedMsMax + 1);
    const after = snapshot(world);
    world.hot.hooks = {};
    before();
    world.recovery.run = async () => {
      world.recovery.run = () => publishAll(world.hot, 9);
      if (comesBack) after();
      await publishAll(world.hot, 5);
    };

    await world.pass(5 * limits.retransmitPollMs);

    assert.is(countClicks(world), 2);
    assert.is(world.gate.countPending(), 0);
  });
}

test('a click on a listing that the store lost counts once it is initialised again', async () => {
  const world = await withBot({ mayLoseTail: true });
  world.hot.shards[ref.shard]?.slots.clear();
  world.reactivate = async () => {
    const batch = { shard: ref.shard, producer: 'other', sequence: 1, items: [initOf(ref)] };
    await world.hot.commit([batch], world.rules);
    return true;
  };

  click(world);
  await world.pass(limits.gatherUnawaitedMsMax + 50);

  assert.is(countClicks(world), 1);
  assert.is(world.kept.at(-1), 250, 'the buffer keeps it');
});

test('a gate that stops drops refused clicks', async () => {
  const world = await withBot();
  failCommits(world, [refusal()]);
  click(world);
  await world.pass(limits.gatherUnawaitedMsMax + 2);
  assert.is(world.sent.length, 1);

  world.gate.stop();
  await world.pass(500);

  assert.is(world.gate.countPending(), 0);
  assert.is(countClicks(world), 0);
});

test.run();

/**
 * The retransmit buffer: what a store that may lose its tail gets again, and what it does not.
 * An output gate on the model store, which tests set back to an earlier state.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InitItem, Item, VoteItem } from '../../../engine/entity/items.ts';
import type { Totals } from '../../../engine/entity/state.ts';
import { limits } from '../../../engine/limits.ts';
import type { Pulse } from '../../../engine/ports.ts';
import {
  botRef,
  clickOn,
  epochMs,
  initOf,
  inviteOn,
  publishAll,
  recordedTurn,
  refusal,
  stateIn,
} from '../kit.ts';
import { createWorld, ref, snapshot, type World, withBot } from './output-gate-kit.ts';

const test = suite('retransmit buffer');

const vote = (user: string, atMs = epochMs): VoteItem => ({
  kind: 'vote',
  target: ref,
  user,
  upvote: true,
  atMs,
  itags: [`${user} ${atMs} a`, `${user} ${atMs} b`],
});

const send = async (world: World, ...items: Item[]): Promise<void> => {
  for (const item of items) {
    world.submit(recordedTurn(item));
    await world.pass(1);
  }
};

const work = (world: World): (readonly [string, number, readonly string[]])[] =>
  world.sent
    .filter(({ sequence }) => sequence > 0)
    .map(({ producer, sequence, items }) => [producer, sequence, items.map(({ kind }) => kind)] as const);

let world: Awaited<ReturnType<typeof withBot>>;
test.before.each(async () => {
  world = await withBot({ mayLoseTail: true });
});

test('lost work is resent before anything new, and counts once', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref, '1'), inviteOn(ref));
  fallBack();
  world.sent.length = 0;

  const turn = world.submit(recordedTurn(clickOn(ref, '2')));
  await world.pass(5);

  assert.equal(work(world), [
    ['node', 5, ['click']],
    ['node~1', 1, []],
    ['node~1', 2, ['click', 'invite', 'click']],
  ]);
  assert.is(turn.decided?.decision.kind, 'applied');
  assert.equal([stateIn(world.hot, ref)?.clicks, stateIn(world.hot, ref)?.inviteClicks], [2, 1]);
  assert.equal([world.metered.get('resent'), world.metered.get('healed: applied')], [2, 2]);
});

test('the shard has a new generation before lost work is resent', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref));
  fallBack();

  await world.pass(limits.retransmitPollMs + 5);

  assert.is(world.recovery.times, 1);
  assert.is(world.hot.shards[ref.shard]?.generation, 2);
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
});

test('a node with nothing to send notices that the store lost its work', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref, '1'), clickOn(ref, '2'));
  fallBack();
  assert.is(stateIn(world.hot, ref)?.clicks, 0);

  await world.pass(limits.retransmitPollMs + 5);

  assert.is(stateIn(world.hot, ref)?.clicks, 2);
  assert.is(world.metered.get('commits_lost'), 1);
});

test('later writes of other nodes do not hide the loss', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref, '1'));
  fallBack();
  const shard = world.hot.shards[ref.shard];
  if (shard) [shard.version, shard.chainHash] = [shard.version + 9, 4_711];

  await world.pass(limits.retransmitPollMs + 5);

  assert.is(stateIn(world.hot, ref)?.clicks, 1);
});

test('work whose resent copy is lost, but not its first one, does not count again', async () => {
  const before = snapshot(world);
  await send(world, clickOn(ref, '1'));
  const after = snapshot(world);
  before();
  await world.pass(limits.retransmitPollMs + 5);
  assert.is(stateIn(world.hot, ref)?.clicks, 1, 'resent');

  after();
  await world.pass(limits.retransmitPollMs + 5);
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
  before();
  await world.pass(limits.retransmitPollMs + 5);

  assert.is(stateIn(world.hot, ref)?.clicks, 1, 'the first copy is lost, too');
});

test('work that comes back before it is resent does not count again', async () => {
  const before = snapshot(world);
  await send(world, clickOn(ref, '1'), vote('user'));
  const after = snapshot(world);
  const counts = () => {
    const { clicks, upvotes } = stateIn(world.hot, ref) ?? {};
    return [clicks, upvotes, world.metered.get('healed: applied')];
  };
  before();
  world.recovery.run = async () => {
    after();
    await publishAll(world.hot, 5);
  };
  await world.pass(limits.retransmitPollMs + 5);
  assert.equal(counts(), [1, 1, 2]);

  before();
  world.recovery.run = () => publishAll(world.hot, 6);
  await world.pass(limits.retransmitPollMs + 5);

  assert.equal(counts(), [1, 1, 4], 'it is kept, and resent when it is lost again');
});

test('what the store loses while the shard recovers is resent, too', async () => {
  const empty = snapshot(world);
  await send(world, clickOn(ref, '1'));
  const half = snapshot(world);
  await send(world, clickOn(ref, '2'));
  half();
  world.recovery.run = async () => {
    world.recovery.run = () => publishAll(world.hot, 6);
    await world.driver.pause(limits.retransmitKeepMs);
    empty();
    await publishAll(world.hot, 5);
  };

  await world.pass(limits.retransmitKeepMs + 2 * limits.retransmitPollMs);

  assert.is(stateIn(world.hot, ref)?.clicks, 2);
  assert.is(world.recovery.times, 2);
});

test('work that is lost twice is resent twice and counts once', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref, '1'));
  fallBack();
  await world.pass(limits.retransmitPollMs + 5);
  const second = snapshot(world);
  await send(world, clickOn(ref, '2'));
  second();
  await world.pass(limits.retransmitPollMs + 5);
  fallBack();
  world.recovery.run = () => publishAll(world.hot, 9);
  await world.pass(2 * limits.retransmitPollMs);

  assert.is(stateIn(world.hot, ref)?.clicks, 2);
});

/** Another node initialises the bot from this row and counts invite clicks, under a new generation. */
const publishedBy = async (world: World, generation: number, items: readonly Item[]): Promise<void> => {
  await publishAll(world.hot, generation);
  const batch = { shard: ref.shard, producer: `other ${generation}`, sequence: 1, items };
  await world.hot.commit([batch], world.rules);
};
const rowOf = (world: World): InitItem => {
  const { generation, version } = world.hot.shards[ref.shard] as { generation: number; version: number };
  return { ...initOf(ref), totals: stateIn(world.hot, ref) as Totals, row: { generation, version } };
};

test('work that was resent and lost again counts, although a newer SQL row lacks it', async () => {
  const world = await createWorld({ mayLoseTail: true });
  const empty = snapshot(world);
  await publishedBy(world, 1, [initOf(ref)]);
  await send(world, clickOn(ref, '1'), inviteOn(ref), vote('user'));
  let row = initOf(ref);
  world.recovery.run = async () => {
    await publishedBy(world, 2, [row, inviteOn(ref)]);
    row = rowOf(world);
  };
  empty();
  await world.pass(2 * limits.retransmitPollMs);
  const counts = () => {
    const { clicks, inviteClicks, upvotes } = stateIn(world.hot, ref) ?? {};
    return [clicks, inviteClicks, upvotes];
  };
  assert.equal(counts(), [1, 2, 1]);

  world.recovery.run = () => publishedBy(world, 3, [row]);
  empty();
  await world.pass(2 * limits.retransmitPollMs);
  assert.equal(counts(), [1, 2, 1], 'the row is of the time between');

  row = rowOf(world);
  world.recovery.run = () => publishedBy(world, 4, [row]);
  empty();
  await world.pass(2 * limits.retransmitPollMs);
  assert.equal(counts(), [1, 2, 1], 'the row has it');
});

test('a vote that was refused is not cast because the one before it was lost', async () => {
  const fallBack = snapshot(world);
  await send(world, vote('user'), vote('user', epochMs + 1), vote('other'));
  fallBack();

  await world.pass(limits.retransmitPollMs + 5);

  const rows = [...(world.hot.shards[ref.shard]?.outbox.values() ?? [])];
  assert.equal(
    rows.map(({ user, atMs }) => [user, atMs]),
    [
      ['user', epochMs],
      ['other', epochMs],
    ],
  );
  assert.is(world.metered.get('resent'), 2);
});

test('a lost vote that meets a newer one of the same user merges into it', async () => {
  const fallBack = snapshot(world);
  await send(world, vote('user'));
  fallBack();
  await world.hot.commit(
    [{ shard: ref.shard, producer: 'other', sequence: 1, items: [vote('user', epochMs + 5)] }],
    world.rules,
  );

  await world.pass(limits.retransmitPollMs + 5);

  assert.is(stateIn(world.hot, ref)?.upvotes, 1);
  assert.is(world.metered.get('healed: merged'), 1);
});

test('an entity that was lost too is initialised again, and its work resent', async () => {
  const world = await createWorld({ mayLoseTail: true });
  const producer = 'other';
  const fallBack = snapshot(world);
  await world.hot.commit([{ shard: ref.shard, producer, sequence: 1, items: [initOf(ref)] }], world.rules);
  await send(world, clickOn(ref));
  fallBack();
  let failures = 2;
  world.reactivate = async () => {
    if (failures-- > 0) throw refusal();
    await world.hot.commit([{ shard: ref.shard, producer, sequence: 1, items: [initOf(ref)] }], world.rules);
    return true;
  };

  await world.pass(4 * limits.retransmitPollMs);

  assert.is(stateIn(world.hot, ref)?.clicks, 1);
  assert.is(failures, -1);
});

test('work of an entity that no longer exists is given up', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref));
  fallBack();
  world.hot.shards[ref.shard]?.slots.clear();

  await world.pass(3 * limits.retransmitPollMs);

  assert.is(world.metered.get('healed: deleted'), 1);
  assert.is(world.gate.countPending(), 0);
});

test('lost work survives a failing recovery and a refusing store', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref));
  fallBack();
  world.recovery.run = () => Promise.reject(refusal());
  await world.pass(3 * limits.retransmitPollMs);
  assert.is(stateIn(world.hot, ref)?.clicks, 0);
  assert.ok(world.recovery.times < 10, `${world.recovery.times} recoveries`);
  world.recovery.run = () => publishAll(world.hot, 2);
  let refusals = 3;
  world.hot.hooks.beforeCommit = (batches) => {
    if (batches.some(({ items }) => items.length > 0) && refusals-- > 0) throw refusal();
  };

  await world.pass(8 * limits.retransmitPollMs);

  assert.is(stateIn(world.hot, ref)?.clicks, 1);
});

test('work is kept for a limited time, and then no more queries are sent', async () => {
  await send(world, clickOn(ref));
  await world.pass(limits.retransmitKeepMs + 3 * limits.retransmitPollMs);
  assert.is(world.kept.at(-1), 0);
  world.sent.length = 0;

  await world.pass(5 * limits.retransmitPollMs);

  assert.equal(world.sent, []);
});

test('work is kept for a shorter time until the pulse has seen that the store may lose writes', async () => {
  let seen = false;
  const pulse: Pulse = { listSilent: () => [], getAnsweredMs: () => 0, mayLoseTail: () => seen };
  Object.assign(world.hot, { pulse });
  await send(world, clickOn(ref, '1'));
  await world.pass(limits.retransmitKeepSafeMs + 3 * limits.retransmitPollMs);
  assert.is(world.kept.at(-1), 0);

  const fallBack = snapshot(world);
  await send(world, clickOn(ref, '2'));
  await world.pass(limits.retransmitKeepSafeMs - 3 * limits.retransmitPollMs);
  seen = true;
  await world.pass(limits.retransmitKeepMs - limits.retransmitKeepSafeMs);
  fallBack();
  await world.pass(limits.retransmitPollMs + 5);

  assert.is(stateIn(world.hot, ref)?.clicks, 2);
});

test('work does not expire while the store does not answer', async () => {
  const fallBack = snapshot(world);
  await send(world, clickOn(ref));
  world.hot.hooks.beforeCommit = () => {
    throw refusal();
  };
  await world.pass(2 * limits.retransmitKeepMs);
  fallBack();
  world.hot.hooks = {};

  await world.pass(3 * limits.retransmitPollMs);

  assert.is(stateIn(world.hot, ref)?.clicks, 1);
});

test('a full buffer takes no new work and loses none', async () => {
  const shardList = 'x'.repeat(limits.retransmitBytesMax / 4);
  const post: Item = { kind: 'stats', target: ref, atMs: epochMs, shardList };
  await send(world, post, post, post, post);

  const turn = world.submit(recordedTurn(clickOn(ref)));
  assert.equal(turn.failure, { outcome: 'not_applied', code: 'overloaded' });
  await world.pass(limits.retransmitKeepMs + 3 * limits.retransmitPollMs);
  const later = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(2);

  assert.is(later.decided?.decision.kind, 'applied');
});

test('for a store that loses nothing, nothing is kept and nothing is queried', async () => {
  const world = await withBot();
  await send(world, clickOn(ref), clickOn(botRef('one', 9)));
  world.sent.length = 0;

  await world.pass(5 * limits.retransmitPollMs);

  assert.equal([world.sent, world.kept], [[], []]);
});

test.run();

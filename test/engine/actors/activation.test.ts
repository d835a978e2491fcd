/**
 * Activation of an entity from the hot store or from its row.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { activate, createLoader } from '../../../engine/actors/activation.ts';
import type { ItemReply } from '../../../engine/commit/shard-queue.ts';
import type { Item } from '../../../engine/entity/items.ts';
import { StorageError } from '../../../engine/errors.ts';
import { toShard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotStore, LoadRequest } from '../../../engine/ports.ts';
import type { ModelShard } from '../../model/hot-model.ts';
import { rules } from '../../sim/plan.ts';
import { pluck } from '../../support/pluck.ts';
import { botRef, createKit, initOf, type Kit, stateIn } from '../kit.ts';

const test = suite('activation');

const bot = (id: string) => ({ kind: 'bot', id }) as const;

interface World extends Kit {
  readonly calls: (readonly LoadRequest[])[];
  readonly hotStore: HotStore;
  readonly renewed: number[];
  sequence: number;
  activate(id: string): ReturnType<typeof activate>;
}

const createWorld = async (): Promise<World> => {
  const kit = await createKit();
  const calls: (readonly LoadRequest[])[] = [];
  const hotStore: HotStore = {
    ...kit.hot,
    load: (requests) => {
      calls.push(requests);
      return kit.hot.load(requests);
    },
  };
  const load = createLoader(hotStore, kit.clock);
  const world: World = {
    ...kit,
    calls,
    hotStore,
    renewed: [],
    sequence: 0,
    activate: (id) => {
      const renew = async (shards: readonly number[]): Promise<void> => {
        world.renewed.push(...shards);
        await kit.hot.publish(shards.map((shard) => ({ shard: toShard(shard), generation: 9 })));
      };
      const send = (item: Item): Promise<ItemReply> => commitOne(world, item);
      return activate({ ledger: kit.ledger.port, clock: kit.clock, rules, renew, send }, load, bot(id));
    },
  };
  return world;
};

const commitOne = async (world: World, item: Item): Promise<ItemReply> => {
  world.sequence += 1;
  const { shard } = item.target;
  const producer = `test ${world.sequence}`;
  const [reply] = await world.hot.commit([{ shard, producer, sequence: 1, items: [item] }], rules);
  const decision = reply?.decisions?.[0];
  if (reply === undefined || decision === undefined) throw new Error('no decision');
  return { decision, state: reply.states[0] ?? null, generation: reply.generation };
};

let world: Awaited<ReturnType<typeof createWorld>>;
test.before.each(async () => {
  world = await createWorld();
});

test('all loads of one tick are one call', async () => {
  const load = createLoader(world.hotStore, world.clock);

  const replies = await world.until(Promise.all(['a', 'b', 'c'].map((id) => load(bot(id)))));

  assert.is(world.calls.length, 1);
  assert.equal(pluck(replies, 'outcome'), ['absent', 'absent', 'absent']);
});

test('a load of the next tick is another call', async () => {
  const load = createLoader(world.hotStore, world.clock);
  await world.until(load(bot('a')));

  await world.until(load(bot('b')));

  assert.is(world.calls.length, 2);
});

test('more loads than fit in a call go out in several', async () => {
  const load = createLoader(world.hotStore, world.clock);
  const ids = Array.from({ length: limits.loadBatchMax + 1 }, (_, index) => `bot-${index}`);

  await world.until(Promise.all(ids.map((id) => load(bot(id)))));

  assert.equal(pluck(world.calls, 'length'), [limits.loadBatchMax, 1]);
});

test('a failed call fails every load in it', async () => {
  const load = createLoader(world.hotStore, world.clock);
  world.hot.hooks.beforeOther = () => {
    throw new Error('away');
  };

  const errors = await world.until(
    Promise.all(['a', 'b'].map((id) => load(bot(id)).catch((error: Error) => error.message))),
  );

  assert.equal(errors, ['away', 'away']);
});

test('an entity that the hot store knows needs no read of the ledger', async () => {
  await commitOne(world, initOf(botRef('a', 7)));

  const activated = await world.until(world.activate('a'));

  assert.is(activated?.ref.incarnation, 7);
  assert.is(activated?.generation, 1);
});

test('an entity only the ledger knows starts with the numbers of its row', async () => {
  const ref = world.ledger.list('bot', 'a');
  const row = world.ledger.totals.get(ref.incarnation);
  if (row) row.totals = { ...row.totals, clicks: 40, uniqueClicks: 4, upvotes: 3 };

  const activated = await world.until(world.activate('a'));

  const state = activated?.state.read();
  assert.equal([state?.clicks, state?.upvotes, state?.flushedVotes], [40, 3, 3]);
  assert.equal(stateIn(world.hot, ref), state);
});

test('before an entity is initialised again, the store gets its recent voters, in steps', async () => {
  const ref = world.ledger.list('bot', 'a');
  Object.assign(world.ledger.totals.get(ref.incarnation) as object, { generation: 1, version: 0 });
  const nowMs = world.clock.nowMs();
  const users = Array.from({ length: limits.votersPerStep + 3 }, (_, index) => `u${1_000 + index}`);
  for (const [index, user] of ['long-ago', ...users].entries()) {
    const atMs = index === 0 ? nowMs - 10 * 86_400_000 : nowMs - 1_000;
    const vote = { itag: user, ref, user, upvote: true, atMs, voteNumber: 0 };
    world.ledger.votes.set(user, { ...vote, immutable: false, voidReason: '' });
  }

  await world.until(world.activate('a'));

  const voters = (world.hot.shards[ref.shard] as ModelShard).votes.map(({ user }) => user).sort();
  assert.equal(voters, users);
  assert.is(world.sequence, 3, 'two steps and the init');
});

test('an entity that no store knows is not found', async () => {
  assert.is(await world.until(world.activate('a')), null);
});

test('a row that is newer than the shard makes it take a new generation first', async () => {
  const ref = world.ledger.list('bot', 'a');
  Object.assign(world.ledger.totals.get(ref.incarnation) as object, { generation: 8, version: 100 });

  const activated = await world.until(world.activate('a'));

  assert.equal(world.renewed, [ref.shard]);
  assert.is(activated?.generation, 9);
});

test('a deleted listing is not found, also while its row still exists', async () => {
  const ref = world.ledger.list('bot', 'a');
  const item = { kind: 'forget', target: ref } as const;
  await world.hot.commit([{ shard: ref.shard, producer: 'test', sequence: 1, items: [item] }], rules);

  assert.is(await world.until(world.activate('a')), null);
  assert.is(stateIn(world.hot, ref), null);
});

test('a new listing under the id of a deleted one is activated', async () => {
  const old = world.ledger.list('bot', 'a');
  world.ledger.remove(old);
  const item = { kind: 'forget', target: old } as const;
  await world.hot.commit([{ shard: old.shard, producer: 'test', sequence: 1, items: [item] }], rules);
  const ref = world.ledger.list('bot', 'a');

  const activated = await world.until(world.activate('a'));

  assert.is(activated?.ref.incarnation, ref.incarnation);
});

test('two nodes that initialise the same entity find the same numbers', async () => {
  const ref = world.ledger.list('bot', 'a');
  const first = await world.until(world.activate('a'));
  const item = { kind: 'click', target: ref, visitor: '1' } as const;
  await world.hot.commit([{ shard: ref.shard, producer: 'other', sequence: 1, items: [item] }], rules);

  const late = await commitOne(world, initOf(ref));

  assert.is(first?.state.read().clicks, 0);
  assert.is(late.decision.kind, 'applied');
  assert.is(late.state?.read().clicks, 1);
});

test('a store that never accepts the row is an error, not a small number', async () => {
  const ref = world.ledger.list('bot', 'a');
  Object.assign(world.ledger.totals.get(ref.incarnation) as object, { generation: 100 });

  const error = await world.until(world.activate('a')).catch((reason: unknown) => reason);

  assert.instance(error, StorageError);
  assert.is(world.renewed.length, limits.reactivationsMax);
});

test.run();

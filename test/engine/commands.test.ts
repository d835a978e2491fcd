/**
 * The engine through its public interface, on the model stores and virtual time.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, EntityView } from '../../engine/engine.ts';
import type { Batch, Item } from '../../engine/entity/items.ts';
import type { DomainError } from '../../engine/errors.ts';
import type { EntityRef } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { HotStore } from '../../engine/ports.ts';
import { hotOverWire, ledgerOverWire } from '../sim/faults.ts';
import { rules } from '../sim/plan.ts';
import { assertNoNote, assertNote } from '../support/notes.ts';
import { pluck } from '../support/pluck.ts';
import { createEngineOn, createKit, epochMs, initOf, type Kit, silence, stateIn, wireOf } from './kit.ts';

const test = suite('commands');

interface World extends Kit {
  readonly engine: Engine;
  readonly sent: Batch[];
  /** Delays the ledger's answer to the next `find` until this resolves. */
  holdFind: Promise<void> | null;
  hotBacklogVotes: number | null;
}

const createWorld = async (): Promise<World> => {
  const kit = await createKit({ published: false });
  const wire = wireOf(kit);
  const sent: Batch[] = [];
  kit.hot.hooks.beforeCommit = (batches) => {
    sent.push(...batches);
  };
  const ledger = ledgerOverWire(wire, kit.ledger.port);
  const hot: HotStore = hotOverWire(wire, kit.hot);
  const engine = createEngineOn(kit, {
    hot: {
      ...hot,
      countBacklog: async () => {
        const size = await hot.countBacklog();
        return { ...size, votes: world.hotBacklogVotes ?? size.votes };
      },
    },
    ledger: {
      ...ledger,
      find: async (targets) => {
        const rows = await ledger.find(targets);
        const delay = world.holdFind;
        world.holdFind = null;
        await delay;
        return rows;
      },
    },
  });
  const world: World = { ...kit, engine, sent, holdFind: null, hotBacklogVotes: null };
  await kit.until(engine.start());
  return world;
};

const activate = (): Promise<EntityView> => world.until(Promise.resolve(world.engine.read('bot', 'a')));
const itemsOf = (world: World, kind: Item['kind']): Item[] =>
  world.sent.flatMap((batch) => batch.items.filter((item) => item.kind === kind));
const voteOn = (world: World, user: string, id = 'a') =>
  world.engine.vote({ kind: 'bot', id, user, upvote: true });
const readNow = (world: World, id = 'a'): EntityView => {
  const view = world.engine.read('bot', id);
  if (view instanceof Promise) throw new Error('not live');
  return view;
};
const errorOf = (promise: Promise<unknown>): Promise<DomainError | null> =>
  promise.then(
    () => null,
    (error: unknown) => error as DomainError,
  );

let world: World;
/** The bot `a`. */
let ref: EntityRef;
test.before.each(async () => {
  world = await createWorld();
  ref = world.ledger.list('bot', 'a');
});

test('a post is answered with what it changed, and the next read shows it at once', async () => {
  const view = await world.until(
    world.engine.postStats('a', { servers: '18446744073709551557', shardList: ['1', '2'], status: 'idle' }),
  );

  const { servers, shardList, status, lastStatsPostMs } = view.state;
  assert.equal([servers, shardList, status], ['18446744073709551557', '1,2', 'idle']);
  assert.ok(lastStatsPostMs >= epochMs);
  assert.equal(readNow(world).state, view.state);
});

test('a reader never sees what the store has not confirmed', async () => {
  await world.until(world.engine.postStats('a', { servers: '1' }));
  const seen: string[] = [];
  const look = (): void => {
    seen.push(readNow(world).state.servers);
  };
  world.hot.hooks = { beforeCommit: look, afterCommit: look };

  await world.until(world.engine.postStats('a', { servers: '2' }));

  assert.equal(seen, ['1', '1']);
  assert.is(readNow(world).state.servers, '2');
});

test('fields that were not posted stay as they are', async () => {
  await world.until(world.engine.postStats('a', { servers: '5', users: '9' }));

  const view = await world.until(world.engine.postStats('a', { servers: '0' }));

  assert.equal([view.state.servers, view.state.users], ['0', '9']);
});

test('a click is in the store soon after, and counts a visitor once', async () => {
  const view = await activate();

  world.engine.countClick(view, '192.0.2.1');
  world.engine.countClick(view, '192.0.2.1');
  world.engine.countInvite(view);
  assert.is(readNow(world).state.clicks, 0);
  await world.pass(limits.gatherUnawaitedMsMax + 10);

  const { clicks, uniqueClicks, inviteClicks } = readNow(world).state;
  assert.equal([clicks, uniqueClicks, inviteClicks], [2, 1, 1]);
  assert.is(stateIn(world.hot, ref)?.clicks, 2);
});

test('concurrent votes of one user are one item, and one is accepted', async () => {
  await activate();

  const outcomes = await world.until(Promise.all([1, 2, 3, 4].map(() => voteOn(world, 'u'))));

  assert.equal(pluck(outcomes, 'kind'), ['voted', 'refused', 'refused', 'refused']);
  assert.equal(outcomes[1], { kind: 'refused', reason: 'wait', waitMs: rules.windows.standard.waitMs });
  assert.is(itemsOf(world, 'vote').length, 1);
  assert.is(readNow(world).state.upvotes, 1);
});

test('votes of different users on one entity do not wait for each other', async () => {
  const outcomes = await world.until(Promise.all(['u', 'v', 'w'].map((user) => voteOn(world, user))));

  assert.equal(
    outcomes.filter((outcome) => outcome.kind !== 'voted'),
    [],
  );
});

test('votes behind one of unknown outcome are certainly not counted', async () => {
  await activate();
  world.hot.hooks.beforeCommit = () => {
    throw silence();
  };

  const both = [errorOf(voteOn(world, 'u')), errorOf(voteOn(world, 'u'))];
  const [first, second] = await world.until(Promise.all(both));
  const third = await world.until(errorOf(voteOn(world, 'u')));

  assert.equal([first?.code, first?.context.outcome], ['deadline_passed', 'unknown']);
  assert.equal([second?.code, second?.context.outcome], ['deadline_passed', 'not_applied']);
  assert.is(third?.context.outcome, 'not_applied');
});

test('the voter may vote again once the unknown outcome is resolved', async () => {
  await activate();
  world.hot.hooks.beforeCommit = () => {
    throw silence();
  };
  await world.until(errorOf(voteOn(world, 'u')));
  world.hot.hooks = {};
  await world.pass(1_000);

  const outcome = await world.until(voteOn(world, 'u'));

  // The window of the first, which was counted after all, is over by now.
  assert.is(outcome.kind, 'voted');
  assert.is(readNow(world).state.upvotes, 2);
});

test('a full outbox refuses votes until it is down to the low limit', async () => {
  world.hotBacklogVotes = limits.outboxVotesHigh;
  await world.pass(1_100);
  const refused = await world.until(errorOf(voteOn(world, 'u')));
  world.hotBacklogVotes = limits.outboxVotesLow + 1;
  await world.pass(1_100);
  const still = await world.until(errorOf(voteOn(world, 'u')));
  assertNote('votes_paused', world.engine.readHealth().notes);
  world.hotBacklogVotes = limits.outboxVotesLow;
  await world.pass(1_100);
  assertNoNote('votes_paused', world.engine.readHealth().notes);

  const taken = await world.until(voteOn(world, 'u'));

  assert.equal([refused?.code, refused?.context.outcome], ['overloaded', 'not_applied']);
  assert.is(still?.code, 'overloaded');
  assert.is(taken.kind, 'voted');
});

test('an entity that does not exist is not found by any operation', async () => {
  const { engine } = world;

  const errors = await world.until(
    Promise.all(
      [
        engine.postStats('b', { servers: '1' }),
        voteOn(world, 'u', 'b'),
        engine.readVoteStatus('bot', 'b', 'u'),
        Promise.resolve(engine.read('bot', 'b')),
      ].map(errorOf),
    ),
  );

  assert.equal(
    errors.map((error) => error?.code),
    ['not_found', 'not_found', 'not_found', 'not_found'],
  );
});

test('if the store lost an entity, the next write initialises it from its SQL row', async () => {
  const view = await activate();
  world.engine.countClick(view, '192.0.2.1');
  await world.pass(2_100);
  world.hot.shards[ref.shard]?.slots.clear();

  const after = await world.until(world.engine.postStats('a', { servers: '3' }));

  assert.equal([after.state.clicks, after.state.servers], [1, '3']);
});

test('the vote status has the window in force, the last vote and the time left', async () => {
  const before = await world.until(world.engine.readVoteStatus('bot', 'a', 'u'));
  await world.until(voteOn(world, 'u'));
  await world.pass(500);

  const after = await world.until(world.engine.readVoteStatus('bot', 'a', 'u'));

  const { standard } = rules.windows;
  assert.equal([before.votedAtMs, before.waitMs, before.window], [0, 0, standard]);
  assert.is(after.waitMs, after.votedAtMs + standard.waitMs - world.clock.nowMs());
  assert.ok(after.waitMs > 0);
});

test('an edit counts from the moment refresh resolves', async () => {
  await activate();
  world.ledger.edit(ref, { voteBanned: true });

  await world.until(world.engine.refreshFacts('bot', 'a'));

  assert.equal(await world.until(voteOn(world, 'u')), { kind: 'refused', reason: 'vote_banned', waitMs: 0 });
});

test('an edit is not undone by an activation that read the SQL row before it', async () => {
  world.holdFind = world.driver.pause(200);
  const read = Promise.resolve(world.engine.read('bot', 'a'));
  await world.pass(50);
  world.ledger.edit(ref, { voteBanned: true });

  await world.until(Promise.all([world.engine.refreshFacts('bot', 'a'), read]));

  assert.is(stateIn(world.hot, ref)?.facts.voteBanned, true);
});

test('voiding votes subtracts them from the total and ends the wait of the voter', async () => {
  await world.until(voteOn(world, 'u'));
  await world.until(world.engine.waitForFlush('bot', 'a'));
  for (const itag of world.ledger.votes.keys()) world.ledger.voidVote(itag, 'operator');

  await world.until(world.engine.deliverAdjustments('bot', 'a'));

  assert.is(readNow(world).state.upvotes, 0);
  assert.is((await world.until(voteOn(world, 'u'))).kind, 'voted');
});

test('the adjustments of a listing are delivered once, although they stay open until a flush', async () => {
  const users = Array.from({ length: limits.adjustmentsPerRound + 1 }, (_, number) => `user-${number}`);
  await world.until(Promise.all(users.map((user) => voteOn(world, user))));
  await world.until(world.engine.waitForFlush('bot', 'a'));
  await world.pass(100);
  for (const itag of world.ledger.votes.keys()) world.ledger.voidVote(itag, 'operator');

  await world.until(world.engine.deliverAdjustments('bot', 'a'));

  assert.is(itemsOf(world, 'adjust').length, users.length);
  assert.is(readNow(world).state.upvotes, 0);
});

test('a removal is delivered without the adjustments of other listings', async () => {
  world.ledger.list('bot', 'other');
  await world.until(voteOn(world, 'u', 'other'));
  await world.until(world.engine.waitForFlush('bot', 'other'));
  await world.pass(100);
  for (const itag of world.ledger.votes.keys()) world.ledger.voidVote(itag, 'operator');
  world.ledger.remove(ref);

  await world.until(world.engine.deliverAdjustments('bot', 'a'));

  assert.equal([itemsOf(world, 'forget').length, itemsOf(world, 'adjust').length], [1, 0]);
});

test('a removed entity is gone as soon as its removal is delivered', async () => {
  await world.until(voteOn(world, 'u'));
  world.ledger.remove(ref);

  await world.until(world.engine.deliverAdjustments('bot', 'a'));

  assert.is((await world.until(errorOf(voteOn(world, 'v'))))?.code, 'not_found');
  assert.is(stateIn(world.hot, ref), null);
});

test('an actor of an earlier listing never shows the numbers of the next one', async () => {
  await activate();
  world.ledger.remove(ref);
  const next = world.ledger.list('bot', 'a');
  const click: Item = { kind: 'click', target: next, visitor: '1' };
  const items: Item[] = [{ kind: 'forget', target: ref }, initOf(next), click];
  await world.hot.commit([{ shard: next.shard, producer: 'other node', sequence: 1, items }], rules);
  world.ledger.edit(next, { voteBanned: true });

  await world.until(world.engine.refreshFacts('bot', 'a'));
  const view = await activate();

  assert.is(view.ref.incarnation, next.incarnation);
  assert.is(view.state.clicks, 1);
});

test('approximate votes of a live actor follow the flush', async () => {
  await world.until(voteOn(world, 'u'));
  assert.is(readNow(world).state.flushedVotes, 0);

  await world.until(world.engine.waitForFlush('bot', 'a'));
  await world.pass(1_100);

  assert.is(readNow(world).state.flushedVotes, 1);
});

test('a drain refuses new work, answers what is in flight, and empties the backlog', async () => {
  await activate();
  world.hot.hooks.beforeCommit = () => world.driver.pause(50);
  const before = voteOn(world, 'u');
  await world.pass(5);

  const drained = world.engine.drain(world.clock.monotonicMs() + 5_000);
  const after = await world.until(errorOf(voteOn(world, 'v')));
  await world.until(drained);

  assert.equal([after?.code, after?.context.outcome], ['draining', 'not_applied']);
  assert.is((await before).kind, 'voted');
  assert.is(world.ledger.votes.size, 1);
  assert.not(world.engine.readHealth().ready);
});

test('the notes of health name what is wrong', async () => {
  assert.equal(world.engine.readHealth(), { ready: true, hotStoreUp: true, notes: [] });
  await activate();
  world.hot.hooks.beforeCommit = () => {
    throw silence();
  };

  await world.until(errorOf(voteOn(world, 'u')));

  const { ready, hotStoreUp, notes } = world.engine.readHealth();
  assert.equal([ready, hotStoreUp], [false, false]);
  assert.match(notes.join(), /^hot_store_fails: a store does not answer$/);
});

test.run();

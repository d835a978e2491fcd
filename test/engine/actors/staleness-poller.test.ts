/**
 * The staleness poller: two whole engines on the same model stores, in virtual time. What one acknowledged
 * must be visible on the other within a second (I9), and a node's own writes must discard none of its actors.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRegistry } from '../../../engine/actors/registry.ts';
import { toLazyState } from '../../../engine/entity/state.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { botRef, initOf, sameShard, silence } from '../kit.ts';
import { createWorld, isLive } from './poller-kit.ts';

const test = suite('staleness poller');

let world: Awaited<ReturnType<typeof createWorld>>;
test.before.each(async () => {
  world = await createWorld();
});

test('a change is visible at its own node at once, and at the other node within a second', async () => {
  const [home, other] = [await world.start('home'), await world.start('other')];
  world.ledger.list('bot', 'a');
  assert.is((await world.see(other, 'a')).state.servers, '0');
  await world.see(home, 'a');

  for (const servers of ['5', '6', '7']) {
    await world.until(home.postStats('a', { servers }));
    assert.is((await world.see(home, 'a')).state.servers, servers);
    await world.pass(900);
    assert.is((await world.see(other, 'a')).state.servers, servers);
  }
});

test('a node’s own writes discard none of its actors', async () => {
  const home = await world.start('home');
  const [first, second] = sameShard(2) as [string, string];
  for (const id of [first, second]) world.ledger.list('bot', id);
  for (const id of [first, second]) await world.see(home, id);
  await world.pass(1_000);
  await world.see(home, first);
  await world.see(home, second);
  world.metered.delete('moved');

  for (let count = 0; count < 5; count++) {
    await world.until(home.postStats(first, { servers: String(count) }));
    await world.pass(limits.stalenessPollMs * 2);
  }
  assert.ok(isLive(home, first) && isLive(home, second));
  assert.is(world.metered.get('moved'), 0);
});

test('a poll between a write of ours and its reply does not count it as a foreign write', async () => {
  const home = await world.start('home');
  const [first, second] = sameShard(2) as [string, string];
  for (const id of [first, second]) world.ledger.list('bot', id);
  for (const id of [first, second]) await world.see(home, id);
  await world.pass(1_000);
  for (const id of [first, second]) await world.see(home, id);
  world.hot.hooks.afterCommit = () => world.driver.pause(limits.stalenessPollMs * 2);

  const posted = home.postStats(first, { servers: '1' });
  await world.until(posted);
  assert.ok(isLive(home, first) && isLive(home, second));
});

test('a change from before the first known version of a shard is not missed', async () => {
  const [home, other] = [await world.start('home'), await world.start('other')];
  const [first, second] = sameShard(2) as [string, string];
  for (const id of [first, second]) world.ledger.list('bot', id);
  await world.until(home.postStats(first, { servers: '1' }));
  await world.until(home.postStats(second, { servers: '1' }));
  await world.see(other, first);
  await world.until(home.postStats(first, { servers: '2' }));
  await world.until(other.postStats(second, { servers: '2' }));
  await world.pass(900);

  assert.is((await world.see(other, first)).state.servers, '2');
});

test('only shards with actors are polled, in one call per interval', async () => {
  const home = await world.start('home');
  world.polled.length = 0;
  await world.pass(2_000);
  assert.equal(world.polled, []);

  const [first, second] = sameShard(2) as [string, string];
  for (const id of [first, second, 'elsewhere']) world.ledger.list('bot', id);
  for (const id of [first, second, 'elsewhere']) await world.see(home, id);
  world.polled.length = 0;
  await world.pass(limits.stalenessPollMs * 5 + 10);
  assert.is(world.polled.length, 5);
  assert.is(world.polled[0], 2);
});

/** Two nodes that know the bot `a`; none has read anything for long. */
const createResting = async () => {
  const [home, other] = [await world.start('home'), await world.start('other')];
  world.ledger.list('bot', 'a');
  for (const engine of [home, other]) await world.see(engine, 'a');
  await world.pass(limits.stalenessPollMs * (limits.stalenessPollsUnused + 1));
  world.polled.length = 0;
  return { home, other };
};

test('without reads a node rests, and its next reader sees what another node changed meanwhile', async () => {
  const { home, other } = await createResting();
  await world.pass(5_000);
  assert.equal(world.polled, []);

  await world.until(home.postStats('a', { servers: '5' }));
  assert.is((await world.see(other, 'a')).state.servers, '5');
  await world.until(home.postStats('a', { servers: '6' }));
  await world.pass(900);
  assert.is((await world.see(other, 'a')).state.servers, '6', 'it polls again');
});

test('a watch keeps a node from resting, and wakes one that rests', async () => {
  const { home, other } = await createResting();
  let changes = 0;
  const { close } = other.watch('bot', 'a', () => void changes++);
  await world.pass(limits.stalenessPollMs * limits.stalenessPollsUnused * 2);
  await world.until(home.postStats('a', { servers: '5' }));
  await world.pass(900);
  assert.is(changes, 1);

  close();
  await world.pass(limits.stalenessPollMs * (limits.stalenessPollsUnused + 1));
  world.polled.length = 0;
  await world.pass(2_000);
  assert.equal(world.polled, []);
});

test('while the store does not answer, cached states stay readable and polling continues', async () => {
  let away = false;
  const world = await createWorld({
    hot: (hot) => ({
      ...hot,
      readVersions: (shards) => (away ? Promise.reject(silence()) : hot.readVersions(shards)),
    }),
  });
  const [home, other] = [await world.start('home'), await world.start('other')];
  world.ledger.list('bot', 'a');
  await world.see(other, 'a');
  await world.pass(1_000);
  await world.see(other, 'a');
  away = true;
  await world.pass(3_000);
  assert.ok(isLive(other, 'a'));

  await world.until(home.postStats('a', { servers: '9' }));
  away = false;
  await world.pass(900);
  assert.is((await world.see(other, 'a')).state.servers, '9');
});

/** Two nodes with an actor of one bot; the first one posts, and the other has no time to poll. */
const createStale = async (hot?: (hot: HotStore) => HotStore) => {
  const world = await createWorld({ hot });
  const [home, other] = [await world.start('home'), await world.start('other')];
  const [seen, second] = sameShard(2) as [string, string];
  for (const id of [seen, second]) {
    world.ledger.list('bot', id);
    await world.see(other, id);
    await world.see(home, id);
  }
  await world.pass(1_000);
  for (const id of [seen, second]) await world.see(other, id);
  await world.until(home.postStats(seen, { servers: '5' }));
  assert.ok(isLive(other, seen), 'it has not polled yet');
  return { world, other, seen, second };
};

test('during a recheck a read waits for the store, also with a write of ours in flight', async () => {
  const { world, other, seen, second } = await createStale();
  const posted = other.postStats(second, { servers: '1' });
  other.suspectStale();
  assert.is((await world.see(other, seen)).state.servers, '5');
  await world.until(posted);
  await world.see(other, seen);
  assert.ok(isLive(other, seen), 'the recheck is over');
});

test('a recheck ignores the answer to an earlier poll', async () => {
  let late = (): void => {};
  let hold = false;
  const { world, other, seen } = await createStale((hot) => ({
    ...hot,
    readVersions: async (shards) => {
      const versions = await hot.readVersions(shards);
      if (hold) await new Promise<void>((resolve) => (late = resolve));
      return versions;
    },
  }));
  other.suspectStale();
  await world.see(other, seen);
  hold = true;
  await world.pass(limits.stalenessPollMs * 2);
  other.suspectStale();
  const early = late;
  const read = Promise.resolve(other.read('bot', seen));
  let answered = false;
  read.then(() => {
    answered = true;
  });
  await world.pass(limits.recheckPollMs);
  early();
  await world.pass(limits.recheckPollMs);
  assert.not(answered);
  late();
  await world.until(read);
});

test('a recheck polls a failing store again soon, and readers wait for a bounded time', async () => {
  let away = false;
  const { world, other, seen } = await createStale((hot) => ({
    ...hot,
    readVersions: (shards) => (away ? Promise.reject(silence()) : hot.readVersions(shards)),
  }));
  away = true;
  other.suspectStale();
  const beganMs = world.clock.monotonicMs();
  assert.is((await world.see(other, seen)).state.servers, '0', 'what is known');
  assert.is(world.clock.monotonicMs() - beganMs, limits.recheckMsMax);

  other.suspectStale();
  const read = world.see(other, seen);
  away = false;
  assert.is((await read).state.servers, '5');
});

test('a node that shares its stores with no other never rechecks', async () => {
  const world = await createWorld({ shared: false });
  const home = await world.start('home');
  world.ledger.list('bot', 'a');
  await world.see(home, 'a');
  home.suspectStale();
  assert.ok(isLive(home, 'a'));
});

test('votes flushed by another node show in the approximate number after a few polls', async () => {
  const [home, other] = [await world.start('home'), await world.start('other')];
  const ref = world.ledger.list('bot', 'a');
  world.ledger.edit(ref, { listed: true });
  await world.until(other.vote({ kind: 'bot', id: 'a', user: 'u', upvote: true }));
  await world.until(home.waitForFlush('bot', 'a'));
  await world.pass(2_500);

  const { state } = await world.see(other, 'a');
  assert.is(state.flushedVotes, state.upvotes - state.downvotes);
});

test('a poll from before a rest does not count as one after it', async () => {
  let holding = false;
  const answered = Promise.withResolvers<void>();
  const world = await createWorld({
    hot: (hot) => ({
      ...hot,
      readVersions: async (shards) => {
        if (holding) await answered.promise;
        return hot.readVersions(shards);
      },
    }),
  });
  const [home, other] = [await world.start('home'), await world.start('other')];
  const ref = world.ledger.list('bot', 'a');
  world.ledger.edit(ref, { listed: true });
  await world.see(other, 'a');
  holding = true;
  await world.pass(limits.stalenessPollMs * (limits.stalenessPollsUnused + 2));
  holding = false;
  answered.resolve();
  await world.pass(limits.stalenessPollMs);

  await world.until(other.vote({ kind: 'bot', id: 'a', user: 'u', upvote: true }));
  await world.until(home.waitForFlush('bot', 'a'));
  await world.pass(2_500);
  const { state } = await world.see(other, 'a');
  assert.is(state.flushedVotes, state.upvotes - state.downvotes);
});

test('an entity with constant votes stays live, because each flush updates it', async () => {
  const home = await world.start('home');
  const ref = world.ledger.list('bot', 'a');
  world.ledger.edit(ref, { listed: true });
  await world.see(home, 'a');
  for (let count = 0; count < 15; count++) {
    await world.until(home.vote({ kind: 'bot', id: 'a', user: `u${count}`, upvote: true }));
    await world.pass(limits.stalenessPollMs);
    assert.ok(isLive(home, 'a'));
  }
});

test('a store that fell back is noticed, and gets a new generation before the next write', async () => {
  const home = await world.start('home');
  const ref = world.ledger.list('bot', 'a');
  await world.see(home, 'a');
  const before = structuredClone(world.hot.shards[ref.shard]);
  await world.until(home.postStats('a', { servers: '5' }));
  await world.pass(1_000);
  Object.assign(world.hot.shards[ref.shard] as object, before);
  await world.pass(limits.stalenessPollMs * 2);

  assert.is(world.metered.get('version_regressed'), 1);
  assert.is((await world.see(home, 'a')).state.servers, '0');
  const generation = world.hot.shards[ref.shard]?.generation ?? 0;
  await world.until(home.postStats('a', { servers: '6' }));
  assert.ok((world.hot.shards[ref.shard]?.generation ?? 0) > generation);
});

test('a store that fell back and caught up in a new generation is noticed at an equal version', async () => {
  const [home, other] = [await world.start('home'), await world.start('other')];
  const ref = world.ledger.list('bot', 'a');
  await world.see(home, 'a');
  const before = structuredClone(world.hot.shards[ref.shard]);
  await world.until(home.postStats('a', { servers: '5' }));
  assert.is((await world.see(other, 'a')).state.servers, '5');
  await world.pass(limits.stalenessPollMs * 2);
  assert.is((await world.see(other, 'a')).state.servers, '5');

  Object.assign(world.hot.shards[ref.shard] as object, before);
  await world.until(home.postStats('a', { servers: '6' }));
  await world.pass(limits.stalenessPollMs * 2);
  assert.is((await world.see(other, 'a')).state.servers, '6');
});

test('a store that fell back and caught up in the same generation is noticed by its chain hash', async () => {
  const [gone, other, third] = [
    await world.start('gone'),
    await world.start('other'),
    await world.start('3'),
  ];
  const ref = world.ledger.list('bot', 'a');
  await world.see(gone, 'a');
  const before = structuredClone(world.hot.shards[ref.shard]);
  await world.until(gone.postStats('a', { servers: '5' }));
  await world.see(other, 'a');
  await world.pass(limits.stalenessPollMs * 2);
  assert.is((await world.see(other, 'a')).state.servers, '5');

  Object.assign(world.hot.shards[ref.shard] as object, before);
  await world.until(third.postStats('a', { servers: '6' }));
  assert.is(world.hot.shards[ref.shard]?.generation, before?.generation, 'no node has noticed yet');
  await world.pass(limits.stalenessPollMs * 2);
  assert.is((await world.see(other, 'a')).state.servers, '6');
});

test('an activation whose shard changes meanwhile answers its waiters and is not cached', async () => {
  const ref = botRef('a');
  let answer = (): void => {};
  const { totals, facts } = initOf(ref);
  const registry = createRegistry({
    actorsMax: 10,
    meters: { recordActors: () => {} } as never,
    activate: () =>
      new Promise((resolve) => {
        answer = () =>
          resolve({
            ref,
            generation: 1,
            state: toLazyState({ ...totals, facts, flushedVotes: 0, version: 1 }),
          });
      }),
  });
  const opening = registry.getOrActivate('bot', 'a');
  assert.equal(registry.listShards(), [ref.shard]);
  registry.discardShard(ref.shard, new Set());
  answer();

  assert.is((await opening).ref, ref);
  assert.is(registry.findAt(ref.address), undefined);
});

test.run();

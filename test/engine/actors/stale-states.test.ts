/**
 * Stale states: a change of another node makes only what it changed stale, turns need no state, and a load
 * that is older than a change makes nothing current.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRegistry } from '../../../engine/actors/registry.ts';
import { toLazyState } from '../../../engine/entity/state.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { botRef, initOf, sameShard } from '../kit.ts';
import { createWorld, isLive } from './poller-kit.ts';

const test = suite('stale states');

/** Two nodes that know two bots of one shard; `loads` counts what the second node loads. */
const createNeighbours = async () => {
  const world = await createWorld();
  const [home, other] = [await world.start('home'), await world.start('other')];
  const [first, second] = sameShard(2) as [string, string];
  for (const id of [first, second]) world.ledger.list('bot', id);
  const seeBoth = async (): Promise<void> => {
    for (const engine of [home, other]) for (const id of [first, second]) await world.see(engine, id);
  };
  await seeBoth();
  await world.pass(1_000);
  await seeBoth();
  return { world, home, other, first, second };
};

test('a change of one entity leaves the others of its shard live on other nodes', async () => {
  const { world, home, other, first, second } = await createNeighbours();

  await world.until(home.postStats(first, { servers: '5' }));
  await world.pass(900);

  assert.ok(isLive(other, second), 'no node changed it');
  assert.is((await world.see(other, first)).state.servers, '5');
  assert.ok(isLive(other, first) && isLive(home, first) && isLive(home, second));
});

test('a post for an entity that another node changed needs no load', async () => {
  const { world, home, other, first } = await createNeighbours();
  await world.until(home.postStats(first, { servers: '5' }));
  await world.pass(900);
  const verbs: string[] = [];
  world.hot.hooks.beforeOther = (verb) => void verbs.push(verb);

  await world.until(other.postStats(first, { users: '6' }));

  assertExcludes(verbs, 'load');
  assert.ok(isLive(other, first), 'the reply brings the state');
  const { state } = await world.see(other, first);
  assert.equal([state.servers, state.users], ['5', '6']);
});

test('where the store no longer knows what changed, the whole shard is loaded again', async () => {
  const { world, home, other, first, second } = await createNeighbours();
  for (let count = 1; count <= 20; count++)
    await world.until(home.postStats(first, { servers: String(count) }));
  await world.pass(900);

  assert.not(isLive(other, second));
  assert.is((await world.see(other, first)).state.servers, '20');
});

test('a load that began before a change of its entity does not make the state current', async () => {
  const ref = botRef('a');
  const { totals, facts } = initOf(ref);
  let answer = (_version: number): void => {};
  const registry = createRegistry({
    actorsMax: 10,
    meters: { recordActors: () => {} } as never,
    activate: () =>
      new Promise((resolve) => {
        answer = (version) =>
          resolve({ ref, generation: 1, state: toLazyState({ ...totals, facts, flushedVotes: 0, version }) });
      }),
  });
  const opening = registry.getOrActivate('bot', 'a');
  registry.markStale(ref.address, 7);
  answer(6);
  const actor = await opening;
  assert.is(registry.findLive('bot', 'a'), actor, 'its reference serves turns');
  assert.is(registry.findCurrent('bot', 'a'), undefined);

  const again = registry.getOrActivate('bot', 'a');
  answer(7);
  assert.is(await again, actor, 'the same actor, with its pending turns');
  assert.is(registry.findCurrent('bot', 'a'), actor);
});

test.run();

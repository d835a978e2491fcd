/**
 * Live actors: single flight, cap, the hand, and what the store said meanwhile.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor } from '../../engine/actors/actor.ts';
import { type ActivatedEntity, createRegistry, type Registry } from '../../engine/actors/registry.ts';
import { toLazyState } from '../../engine/entity/lazy-state.ts';
import { DomainError } from '../../engine/errors.ts';
import type { EntityKind } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import { botRef, initOf, sameShard } from './kit.ts';

const test = suite('registry');

const foundAt = (id: string, version = 1, incarnation = 1): ActivatedEntity => {
  const ref = botRef(id, incarnation);
  const { totals, facts } = initOf(ref);
  return { ref, generation: 1, state: toLazyState({ ...totals, facts, flushedVotes: 0, version }) };
};

interface World {
  readonly registry: Registry;
  readonly asked: string[];
  find: (kind: EntityKind, id: string) => Promise<ActivatedEntity | null>;
}
const createWorld = (actorsMax = 100): World => {
  const world: World = {
    asked: [],
    find: async (_kind, id) => foundAt(id),
    registry: createRegistry({
      actorsMax,
      meters: { recordActors: () => {} } as never,
      activate: (kind, id) => {
        world.asked.push(id);
        return world.find(kind, id);
      },
    }),
  };
  return world;
};
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
  );

test('all who want the same entity wait for one look', async () => {
  const { registry, asked } = createWorld();

  const actors = await Promise.all([
    registry.getOrActivate('bot', 'a'),
    registry.getOrActivate('bot', 'a'),
    registry.getOrActivate('bot', 'a'),
  ]);

  assert.equal(asked, ['a']);
  assert.is(actors[0], actors[2]);
  assert.is(registry.findLive('bot', 'a'), actors[0]);
});

test('a failed look fails all who wait, and the next one looks again', async () => {
  const world = createWorld();
  world.find = async () => {
    throw new Error('away');
  };
  const both = await Promise.all([
    codeOf(world.registry.getOrActivate('bot', 'a')),
    codeOf(world.registry.getOrActivate('bot', 'a')),
  ]);
  world.find = async (_kind, id) => foundAt(id);

  await world.registry.getOrActivate('bot', 'a');

  assert.equal(both, ['Error: away', 'Error: away']);
  assert.equal(world.asked, ['a', 'a']);
});

test('an entity that nobody knows is not found, and leaves nothing behind', async () => {
  const world = createWorld();
  world.find = async () => null;

  assert.is(await codeOf(world.registry.getOrActivate('bot', 'a')), 'not_found');

  assert.is(world.registry.countActors(), 0);
});

test('those who wait for one look are bounded', async () => {
  const world = createWorld();
  world.find = () => new Promise(() => {});
  for (let waiter = 0; waiter < limits.activationWaitersMax; waiter++)
    void world.registry.getOrActivate('bot', 'a');

  assert.is(await codeOf(world.registry.getOrActivate('bot', 'a')), 'overloaded');
});

test('looks on their way are bounded', async () => {
  const world = createWorld();
  world.find = () => new Promise(() => {});
  for (let index = 0; index < limits.activationsMax; index++)
    void world.registry.getOrActivate('bot', `bot-${index}`);

  assert.is(await codeOf(world.registry.getOrActivate('bot', 'one more')), 'overloaded');
});

test('above the cap the actor not used since the hand passed goes', async () => {
  const { registry } = createWorld(2);
  await registry.getOrActivate('bot', 'a');
  await registry.getOrActivate('bot', 'b');
  await registry.getOrActivate('bot', 'c');
  await registry.getOrActivate('bot', 'd');

  assert.is(registry.countActors(), 2);
});

test('the hand spares who was used since it passed', async () => {
  const { registry } = createWorld(3);
  for (const id of ['a', 'b', 'c', 'd']) await registry.getOrActivate('bot', id);
  const survivors = ['a', 'b', 'c', 'd'].filter((id) => registry.findAt(botRef(id).address) !== undefined);
  assert.is(survivors.length, 3);
  registry.findLive('bot', survivors[0] as string);

  await registry.getOrActivate('bot', 'e');

  assert.ok(registry.findAt(botRef(survivors[0] as string).address));
});

test('an actor with turns on their way is never passivated', async () => {
  const { registry } = createWorld(1);
  const actor = await registry.getOrActivate('bot', 'a');
  actor.pendingTurns = 1;
  for (const id of ['b', 'c', 'd', 'e']) await registry.getOrActivate('bot', id);

  assert.is(registry.findAt(actor.ref.address), actor);
});

test('when none may go the registry stands above its cap, and does not hang', async () => {
  const { registry } = createWorld(1);
  const actors: Actor[] = [];
  for (const id of ['a', 'b', 'c']) {
    const actor = await registry.getOrActivate('bot', id);
    actor.pendingTurns = 1;
    actors.push(actor);
  }

  assert.equal(
    actors.map((actor) => registry.findAt(actor.ref.address)),
    actors,
  );
});

test('a discarded actor is looked up again', async () => {
  const { registry, asked } = createWorld();
  const actor = await registry.getOrActivate('bot', 'a');

  registry.discard(actor.ref.address);
  assert.is(registry.findLive('bot', 'a'), undefined);
  await registry.getOrActivate('bot', 'a');

  assert.equal(asked, ['a', 'a']);
});

test('a shard is discarded but for the named ones', async () => {
  const { registry } = createWorld();
  const [one, two] = sameShard(2) as [string, string];
  const kept = await registry.getOrActivate('bot', one);
  await registry.getOrActivate('bot', two);
  const elsewhere = await registry.getOrActivate('bot', 'elsewhere');
  assert.is.not(elsewhere.ref.shard, kept.ref.shard);

  registry.discardShard(kept.ref.shard, new Set([kept.ref.address]));

  assert.is(registry.findLive('bot', one), kept);
  assert.is(registry.findLive('bot', two), undefined);
  assert.is(registry.findLive('bot', 'elsewhere'), elsewhere);
});

test('a look that comes back late starts from the newer reply heard meanwhile', async () => {
  const world = createWorld();
  let answer: (activated: ActivatedEntity) => void = () => {};
  world.find = () => new Promise((resolve) => (answer = resolve));
  const opening = world.registry.getOrActivate('bot', 'a');
  const newer = foundAt('a', 8);

  world.registry.recordLatestState(newer.ref.address, () => newer);
  answer(foundAt('a', 7));
  const actor = await opening;

  assert.is(actor.readState().version, 8);
});

test('a look that is newer than what was heard wins', async () => {
  const world = createWorld();
  let answer: (activated: ActivatedEntity) => void = () => {};
  world.find = () => new Promise((resolve) => (answer = resolve));
  const opening = world.registry.getOrActivate('bot', 'a');
  const older = foundAt('a', 8);

  world.registry.recordLatestState(older.ref.address, () => older);
  answer(foundAt('a', 9));

  assert.is((await opening).readState().version, 9);
});

test('what is heard of an entity that nobody opens is not kept', async () => {
  const { registry } = createWorld();
  const heard = foundAt('a', 8);

  registry.recordLatestState(heard.ref.address, () => {
    throw new Error('not asked for');
  });

  assert.is((await registry.getOrActivate('bot', 'a')).readState().version, 1);
});

test('a listing that the store dropped meanwhile is looked at again', async () => {
  const world = createWorld();
  const answers: ((activated: ActivatedEntity | null) => void)[] = [];
  world.find = () => new Promise((resolve) => answers.push(resolve));
  const opening = world.registry.getOrActivate('bot', 'a');
  const gone = foundAt('a');

  world.registry.recordLatestState(gone.ref.address, () => ({ ref: gone.ref, generation: 1, state: null }));
  answers[0]?.(foundAt('a'));
  await new Promise((resolve) => setImmediate(resolve));
  answers[1]?.(null);

  assert.is(await codeOf(opening), 'not_found');
});

test.run();

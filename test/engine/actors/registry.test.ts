/**
 * Live actors: single-flight activation, cap, passivation, and replies that come meanwhile.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor } from '../../../engine/actors/actor.ts';
import { type ActivatedEntity, createRegistry, type Registry } from '../../../engine/actors/registry.ts';
import { toLazyState } from '../../../engine/entity/state.ts';
import type { EntityKind } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { botRef, codeOf, initOf, sameShard } from '../kit.ts';

const test = suite('registry');

const foundAt = (id: string, version = 1, incarnation = 1): ActivatedEntity => {
  const ref = botRef(id, incarnation);
  const { totals, facts } = initOf(ref);
  return { ref, generation: 1, state: toLazyState({ ...totals, facts, flushedVotes: 0, version }) };
};

interface World {
  readonly registry: Registry;
  readonly activated: string[];
  find: (kind: EntityKind, id: string) => Promise<ActivatedEntity | null>;
}
const createWorld = (actorsMax = 100): World => {
  const world: World = {
    activated: [],
    find: async (_kind, id) => foundAt(id),
    registry: createRegistry({
      actorsMax,
      meters: { recordActors: () => {} } as never,
      activate: (kind, id) => {
        world.activated.push(id);
        return world.find(kind, id);
      },
    }),
  };
  return world;
};
let world: ReturnType<typeof createWorld>;
test.before.each(() => {
  world = createWorld();
});

test('all requests for one entity wait for one activation', async () => {
  const { registry, activated } = createWorld();

  const actors = await Promise.all([
    registry.getOrActivate('bot', 'a'),
    registry.getOrActivate('bot', 'a'),
    registry.getOrActivate('bot', 'a'),
  ]);

  assert.equal(activated, ['a']);
  assert.is(actors[0], actors[2]);
  assert.is(registry.findLive('bot', 'a'), actors[0]);
});

test('a failed activation fails all its waiters, and the next request tries again', async () => {
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
  assert.equal(world.activated, ['a', 'a']);
});

test('an entity that no store knows is not found, and leaves nothing behind', async () => {
  world.find = async () => null;

  assert.is(await codeOf(world.registry.getOrActivate('bot', 'a')), 'not_found');

  assert.is(world.registry.countActors(), 0);
});

test('the waiters of one activation are bounded', async () => {
  world.find = () => new Promise(() => {});
  for (let waiter = 0; waiter < limits.activationWaitersMax; waiter++)
    void world.registry.getOrActivate('bot', 'a');

  assert.is(await codeOf(world.registry.getOrActivate('bot', 'a')), 'overloaded');
});

test('concurrent activations are bounded', async () => {
  world.find = () => new Promise(() => {});
  for (let index = 0; index < limits.activationsMax; index++)
    void world.registry.getOrActivate('bot', `bot-${index}`);

  assert.is(await codeOf(world.registry.getOrActivate('bot', 'one more')), 'overloaded');
});

test('above the cap actors not used since the last pass are discarded', async () => {
  const { registry } = createWorld(2);
  await registry.getOrActivate('bot', 'a');
  await registry.getOrActivate('bot', 'b');
  await registry.getOrActivate('bot', 'c');
  await registry.getOrActivate('bot', 'd');

  assert.is(registry.countActors(), 2);
});

test('passivation spares an actor that was used since the last pass', async () => {
  const { registry } = createWorld(3);
  for (const id of ['a', 'b', 'c', 'd']) await registry.getOrActivate('bot', id);
  const survivors = ['a', 'b', 'c', 'd'].filter((id) => registry.findAt(botRef(id).address) !== undefined);
  assert.is(survivors.length, 3);
  registry.findLive('bot', survivors[0] as string);

  await registry.getOrActivate('bot', 'e');

  assert.ok(registry.findAt(botRef(survivors[0] as string).address));
});

test('an actor with pending turns is never passivated', async () => {
  const { registry } = createWorld(1);
  const actor = await registry.getOrActivate('bot', 'a');
  actor.pendingTurns = 1;
  for (const id of ['b', 'c', 'd', 'e']) await registry.getOrActivate('bot', id);

  assert.is(registry.findAt(actor.ref.address), actor);
});

test('if no actor may be discarded the registry exceeds its cap, and does not hang', async () => {
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

test('a discarded actor is activated again', async () => {
  const { registry, activated } = createWorld();
  const actor = await registry.getOrActivate('bot', 'a');

  registry.discard(actor.ref.address);
  assert.is(registry.findLive('bot', 'a'), undefined);
  await registry.getOrActivate('bot', 'a');

  assert.equal(activated, ['a', 'a']);
});

test('discarding a shard keeps the actors at the given addresses', async () => {
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

test('a late load starts from the newer reply that came meanwhile', async () => {
  let answer: (activated: ActivatedEntity) => void = () => {};
  world.find = () => new Promise((resolve) => (answer = resolve));
  const opening = world.registry.getOrActivate('bot', 'a');
  const newer = foundAt('a', 8);

  world.registry.recordLatestState(newer.ref.address, () => newer);
  answer(foundAt('a', 7));
  const actor = await opening;

  assert.is(actor.readState().version, 8);
});

test('a load that is newer than the last reply wins', async () => {
  let answer: (activated: ActivatedEntity) => void = () => {};
  world.find = () => new Promise((resolve) => (answer = resolve));
  const opening = world.registry.getOrActivate('bot', 'a');
  const older = foundAt('a', 8);

  world.registry.recordLatestState(older.ref.address, () => older);
  answer(foundAt('a', 9));

  assert.is((await opening).readState().version, 9);
});

test('a reply about an entity that is not being activated is not kept', async () => {
  const { registry } = createWorld();
  const latest = foundAt('a', 8);

  registry.recordLatestState(latest.ref.address, () => {
    throw new Error('not asked for');
  });

  assert.is((await registry.getOrActivate('bot', 'a')).readState().version, 1);
});

test('a load from before a change of the shard shows no less than the discarded actor did', async () => {
  const { registry } = world;
  const { address, shard } = (await registry.getOrActivate('bot', 'a')).ref;
  let answer: (activated: ActivatedEntity) => void = () => {};
  world.find = () => new Promise((resolve) => (answer = resolve));
  registry.markStale(address, 2);
  const early = registry.getOrActivate('bot', 'a');
  registry.findAt(address)?.adopt(1, foundAt('a', 8).state);
  registry.discardShard(shard, new Set());
  const late = registry.getOrActivate('bot', 'a');
  answer(foundAt('a', 3));

  assert.is((await late).readState().version, 8);
  assert.is(await early, await late);
  assert.is(registry.countActors(), 0, 'the next reader loads it');
});

test('a listing that the store dropped meanwhile is activated again', async () => {
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

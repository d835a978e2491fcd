/**
 * Writes that are never sent because their entity cannot be activated: their clients learn that nothing was
 * counted, even if the outcome of the load or the `init` before them is unknown.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine } from '../../engine/engine.ts';
import { DomainError, StorageError } from '../../engine/errors.ts';
import type { EntityRef } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import { createEngineOn, createKit, type Kit, refusal, silence, stateIn } from './kit.ts';

const test = suite('uncounted');

interface World extends Kit {
  readonly engine: Engine;
  readonly bot: EntityRef;
}

const createWorld = async (): Promise<World> => {
  const kit = await createKit({ published: false });
  const engine = createEngineOn(kit);
  const bot = kit.ledger.list('bot', 'a');
  await kit.until(engine.start());
  return { ...kit, engine, bot };
};

/** The outcome that an error of either class reports. */
const outcomeOf = (error: unknown): string | undefined => {
  if (error instanceof StorageError) return error.outcome;
  return error instanceof DomainError ? error.context.outcome : undefined;
};

/** The outcomes of a vote and a post for a bot that is not active yet. */
const outcomesOf = async ({ engine, until }: World): Promise<readonly unknown[]> => {
  const vote = engine.vote({ kind: 'bot', id: 'a', user: 'u', upvote: true });
  const post = engine.postStats('a', { servers: '1' });
  const results = await until(Promise.allSettled([vote, post]));
  return results.map((one) => (one.status === 'rejected' ? outcomeOf(one.reason) : one.status));
};

test('a write whose load got no answer fails as not applied', async () => {
  const world = await createWorld();
  world.hot.hooks.beforeOther = (verb) => {
    if (verb === 'load') throw silence();
  };

  assert.equal(await outcomesOf(world), ['not_applied', 'not_applied']);
});

test('a write whose initialisation has an unknown outcome fails as not applied', async () => {
  const world = await createWorld();
  world.hot.hooks.beforeCommit = () => {
    throw silence();
  };

  assert.equal(await outcomesOf(world), ['not_applied', 'not_applied']);
  assert.is(stateIn(world.hot, world.bot), null);
});

test('a write that was sent and got no answer fails as unknown', async () => {
  const world = await createWorld();
  await world.until(Promise.resolve(world.engine.read('bot', 'a')));
  world.hot.hooks.beforeCommit = () => {
    throw silence();
  };

  assert.equal(await outcomesOf(world), ['unknown', 'unknown']);
});

/** A click that the store refused, which waits to be sent again. */
const clickRefused = async (world: World): Promise<void> => {
  const view = await world.until(Promise.resolve(world.engine.read('bot', 'a')));
  world.hot.hooks.beforeCommit = () => {
    throw refusal();
  };
  world.engine.countClick(view, '192.0.2.1');
  await world.pass(limits.gatherUnawaitedMsMax + 50);
};

test('a click that waits counts at a drain, if the store takes it in time', async () => {
  const world = await createWorld();
  await clickRefused(world);

  const drained = world.engine.drain(world.clock.monotonicMs() + 5_000);
  await world.pass(500);
  world.hot.hooks = {};

  assert.is(await world.until(drained), 0);
  assert.is(stateIn(world.hot, world.bot)?.clicks, 1);
  assert.is(world.ledger.totals.get(world.bot.incarnation)?.totals.clicks, 1, 'in SQL, too');
});

test('a drain ends without a click that the store refuses until then, and says so', async () => {
  const world = await createWorld();
  await clickRefused(world);

  const unconfirmed = await world.until(world.engine.drain(world.clock.monotonicMs() + 1_000));

  assert.is(unconfirmed, 1);
  world.hot.hooks = {};
  await world.pass(5_000);
  assert.is(stateIn(world.hot, world.bot)?.clicks ?? 0, 0);
});

test.run();

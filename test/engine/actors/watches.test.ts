/**
 * Watches: the listener runs for changes of this node and of others, after which the watch reads the new
 * state; also without an actor, and not after its end.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine } from '../../../engine/engine.ts';
import { sameShard } from '../kit.ts';
import { createWorld, type World } from './poller-kit.ts';

const test = suite('watches');

/** Watches a bot and reads it whenever the listener ran. */
const watch = (world: World, engine: Engine, id: string) => {
  const seen = { times: 0 };
  const opened = engine.watch('bot', id, () => {
    seen.times += 1;
  });
  const read = () => world.until(Promise.resolve(opened.read()));
  return { seen, read, close: opened.close };
};

test('the listener of a change of this node runs before its answer, and a read shows it', async () => {
  const world = await createWorld();
  const engine = await world.start('home');
  const [id, other] = sameShard(2) as [string, string];
  for (const bot of [id, other]) world.ledger.list('bot', bot);
  const { seen, read } = watch(world, engine, id);
  await read();
  const before = seen.times;
  await world.until(engine.postStats(other, { servers: '1' }));
  const untouched = seen.times;
  const posted = await world.until(engine.postStats(id, { servers: '7' }));
  const view = await read();

  assert.is(untouched, before, 'another bot of the shard');
  assert.is(seen.times, before + 1);
  assert.equal([view.state, view.ref.id], [posted.state, id]);
  assert.ok(view.generation > 0);
});

test('a change of another node reaches the listener, also when this node has no actor', async () => {
  const world = await createWorld();
  const [home, other] = [await world.start('home'), await world.start('other')];
  const [id] = sameShard(1) as [string];
  world.ledger.list('bot', id);
  await world.see(home, id);
  const { seen, read } = watch(world, other, id);
  await world.pass(1_000);
  const before = seen.times;
  await world.until(home.postStats(id, { servers: '9' }));
  await world.pass(900);
  const view = await read();

  assert.ok(seen.times > before);
  assert.is(view.state.servers, '9');
});

test('after its end the listener runs no more, and the bot can be watched again', async () => {
  const world = await createWorld();
  const engine = await world.start('home');
  const [id] = sameShard(1) as [string];
  world.ledger.list('bot', id);
  const first = watch(world, engine, id);
  await first.read();
  first.close();
  const before = first.seen.times;
  const second = watch(world, engine, id);
  await world.until(engine.postStats(id, { servers: '1' }));

  assert.is(first.seen.times, before);
  assert.ok(second.seen.times > 0);
});

test('a bot that is deleted reaches the listener, and the read says so', async () => {
  const world = await createWorld();
  const engine = await world.start('home');
  const [id] = sameShard(1) as [string];
  const ref = world.ledger.list('bot', id);
  const { seen, read } = watch(world, engine, id);
  await read();
  const before = seen.times;
  world.ledger.remove(ref);
  await world.until(engine.deliverAdjustments('bot', id));
  const error = await read().catch((reason: unknown) => reason);

  assert.ok(seen.times > before);
  assert.is((error as { code?: string }).code, 'not_found');
});

test('several watches of one entity end one by one', async () => {
  const world = await createWorld();
  const engine = await world.start('home');
  const [id] = sameShard(1) as [string];
  world.ledger.list('bot', id);
  const [first, second] = [watch(world, engine, id), watch(world, engine, id)];
  const post = () => world.until(engine.postStats(id, { servers: '1' }));
  const count = () => [first.seen.times, second.seen.times];
  await first.read();
  const [before = 0] = count();
  await post();
  assert.equal(count(), [before + 1, before + 1]);
  first.close();
  await post();
  assert.equal(count(), [before + 1, before + 2]);
  second.close();
  await post();
  assert.equal(count(), [before + 1, before + 2]);
});

test.run();

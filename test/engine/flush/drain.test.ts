/**
 * The flusher's drain, at a stop: what it flushes, and when it ends.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { botRef, clickOn, codeOf, initOf } from '../kit.ts';
import { commit, createWorld, found, voteOf } from './flusher-world.ts';

const test = suite('drain of the flusher');

const busy = (): StorageError => new StorageError('flush', { outcome: 'not_applied', reason: 'busy' });
let world: Awaited<ReturnType<typeof createWorld>>;
let ref: EntityRef;
test.before.each(async () => {
  world = await createWorld();
  ref = found(world, 'a');
});

test('a drain empties the backlog, then stops', async () => {
  world.flusher.start();
  await commit(world, initOf(ref), clickOn(ref), voteOf(ref, 'u', 'v1'));

  await world.until(world.flusher.drain(world.clock.monotonicMs() + 5_000));
  const rounds = world.rounds.length;
  await commit(world, clickOn(ref));
  await world.pass(5_000);

  assert.is(rounds, 1);
  assert.is(world.rounds.length, 1);
  assert.is(await world.until(codeOf(world.flusher.waitForFlush(ref.shard))), 'resolved');
});

test('a drain leaves no timer behind: no other round or delivery starts', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.flusher.start();
  await world.pass(900);
  world.before = () => world.driver.pause(2_500);

  await world.until(world.flusher.drain(world.clock.monotonicMs() + 5_000));

  assert.is(world.rounds.length, 1);
  assert.is(world.delivered, 0);
});

test('a drain ends by its deadline when the ledger hangs', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.before = () => new Promise(() => {});
  world.flusher.start();
  await world.pass(1_100);

  await world.until(world.flusher.drain(world.clock.monotonicMs() + 700));

  assert.is(world.driver.nowMs(), 1_800);
});

test('a drain ends at once when the ledger fails, and says why', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.before = () => {
    throw busy();
  };

  await world.until(world.flusher.drain(world.clock.monotonicMs() + 5_000));
  assert.ok(world.driver.nowMs() < 100);
  assert.match(String(world.flusher.getLastError()), /busy/);
});

test('a drain ends at once when the rest of the backlog cannot be read', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.hot.peek = async () => ({ entities: [], votes: [] });
  world.flusher.start();

  await world.until(world.flusher.drain(world.clock.monotonicMs() + 5_000));

  assert.is(world.driver.nowMs(), 0);
  assert.match(String(world.flusher.failure()), /damaged/);
});

test('a drain beside other nodes flushes its own shards once, and does not wait for theirs', async () => {
  const [mine, theirs] = [botRef('bot-0'), botRef('bot-1')];
  await commit(world, initOf(mine), clickOn(mine));
  await commit(world, initOf(theirs), clickOn(theirs));
  world.shards = [mine.shard];
  await world.until(world.flusher.drain(world.clock.monotonicMs() + 5_000));
  assert.is(world.rounds.length, 1);
  assert.equal(await world.hot.countBacklog(), { entities: 1, votes: 0 });
});

test.run();

/**
 * A store that loses its newest writes just after a node started, before the node has sent anything to it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pluck } from '../support/pluck.ts';
import { createEngineOn, createKit } from './kit.ts';

const test = suite('losses after a start');

test('what a node acknowledges on top of an older state outlives the next start', async () => {
  const kit = await createKit({ published: false, mayLoseTail: true });
  kit.ledger.list('bot', 'a');
  const first = createEngineOn(kit, { producer: 'first' });
  await kit.until(first.start());
  await kit.until(first.postStats('a', { servers: '1' }));
  const older = structuredClone(kit.hot.shards);
  for (const servers of ['2', '3', '4', '5']) await kit.until(first.postStats('a', { servers }));
  await kit.until(first.drain(kit.clock.monotonicMs() + 5_000));

  const second = createEngineOn(kit, { producer: 'second' });
  await kit.until(second.start());
  for (const [index, shard] of older.entries()) Object.assign(kit.hot.shards[index] as object, shard);
  const vote = await kit.until(second.vote({ kind: 'bot', id: 'a', user: 'u', upvote: true }));
  assert.is(vote.kind, 'voted');
  await kit.pass(200);
  await kit.until(createEngineOn(kit, { producer: 'third' }).start());
  await kit.pass(3_000);

  assert.equal(pluck([...kit.ledger.votes.values()], 'user'), ['u']);
});

test.run();

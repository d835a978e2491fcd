/**
 * A store that loses its newest writes just after a node started, before the node has sent anything to it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pluck } from '../support/pluck.ts';
import { createEngineOn, createKit } from './kit.ts';

const test = suite('losses after a start');

test('changes that a node counted on a store that had fallen back survive the next start', async () => {
  const kit = await createKit({ published: false, mayLoseTail: true });
  kit.ledger.list('bot', 'a');
  const earlier = createEngineOn(kit, { producer: 'first' });
  await kit.until(earlier.start());
  await kit.until(earlier.postStats('a', { servers: '1' }));
  const older = structuredClone(kit.hot.shards);
  for (const servers of ['2', '3', '4', '5']) await kit.until(earlier.postStats('a', { servers }));
  await kit.until(earlier.drain(kit.clock.monotonicMs() + 5_000));

  const second = createEngineOn(kit, { producer: 'second' });
  await kit.until(second.start());
  for (const [index, shard] of older.entries()) Object.assign(kit.hot.shards[index] as object, shard);
  const vote = () => second.vote({ kind: 'bot', id: 'a', user: 'u', upvote: true });
  // Were it counted before the shard has a new generation, a start would empty the shard.
  assert.is((await kit.until(vote())).kind, 'voted');
  await kit.pass(200);
  assert.is((await kit.until(vote())).kind, 'refused');
  await kit.until(createEngineOn(kit, { producer: 'third' }).start());
  await kit.pass(3_000);

  assert.equal(pluck([...kit.ledger.votes.values()], 'user'), ['u']);
});

test.run();

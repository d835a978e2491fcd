/**
 * A user's vote status after a reset that SQL has and the hot store does not know: the flusher, which
 * would tell it, comes by once an hour here.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { type Answer, openWorld } from './world.ts';

const test = suite('vote status after a reset');
const world = await openWorld({ flushIntervalMs: 3_600_000 });
test.after(() => world.close());
await addUser(world.sql, 'robin');
for (const id of ['all', 'one', 'redeemed']) await addBot(world.sql, id);
const vote = async (id: string) =>
  world.ask('PUT', `/users/robin/bot/${id}/votes?upvote=true`, { token: await world.token('user', 'robin') });
/** What needs the newest votes is 503 while SQL is slow, and is requested again. */
const readStatus = async (id: string) => {
  const replies: Answer[] = [];
  await until('an answer', async () => {
    replies.unshift(await world.ask('GET', `/users/robin/bot/${id}/votes`));
    return replies[0]?.status === 200;
  });
  const { has_voted, valid_votes } = (replies[0] as Answer).json;
  return [has_voted, valid_votes.length];
};

test('it never has a wait without the vote, and the user can vote', async () => {
  const { votes } = world.catalogue.operator;
  for (const id of ['all', 'one']) {
    assert.is((await vote(id)).status, 204);
    assert.equal(await readStatus(id), [true, 1]);
    const scope = id === 'all' ? ('all' as const) : await votes.findIncarnation({ kind: 'bot', id });
    assert.ok(scope);
    world.clock.skip(1);
    await votes.reset({ scope, atMs: world.clock.nowMs(), reason: 'monthly_reset' });

    assert.equal(await readStatus(id), [false, 0], id);
    assert.is((await vote(id)).status, 204);
    assert.equal(await readStatus(id), [true, 1]);
  }
});

test('the voter of a redeemed vote still waits', async () => {
  await vote('redeemed');
  await readStatus('redeemed');
  await world.sql`
    update votes set void = true, void_reason = 'redeemed', voided_at = now() where target_id = 'redeemed'`;

  assert.equal(await readStatus('redeemed'), [true, 0]);
});

test.run();

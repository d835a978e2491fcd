/**
 * The flusher: rounds, halving, back-off, flush requests.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { pluck } from '../../support/pluck.ts';
import { botRef, clickOn, codeOf, initOf, stateIn } from '../kit.ts';
import { commit, createWorld, found, voteOf } from './flusher-world.ts';

const test = suite('flusher');

const rowError = (): StorageError => new StorageError('flush', { outcome: 'not_applied', reason: 'row' });
const busy = (): StorageError => new StorageError('flush', { outcome: 'not_applied', reason: 'busy' });
let world: Awaited<ReturnType<typeof createWorld>>;
let ref: EntityRef;
test.before.each(async () => {
  world = await createWorld();
  ref = found(world, 'a');
});

test('a round carries totals and votes in one transaction, and leaves nothing', async () => {
  await commit(world, initOf(ref), clickOn(ref), voteOf(ref, 'u', 'v1'));
  world.flusher.start();

  await world.pass(1_001);

  assert.is(world.rounds.length, 1);
  assert.is(world.ledger.totals.get(ref.incarnation)?.totals.clicks, 1);
  assert.is(world.ledger.votes.get('v1')?.user, 'u');
  assert.equal(await world.hot.countBacklog(), { entities: 0, votes: 0 });
  assert.is(stateIn(world.hot, ref)?.flushedVotes, 1);
  assert.is(world.receipts[0]?.entities[0]?.flushedVotes, 1);
  assert.equal(world.flusher.getBacklogSize(), { entities: 0, votes: 0 });
});

test('rounds come once per interval, and adjustments after each', async () => {
  world.flusher.start();
  for (let count = 0; count < 3; count++) {
    await commit(world, ...(count === 0 ? [initOf(ref)] : []), clickOn(ref));
    await world.pass(1_000);
  }
  await world.pass(100);

  assert.is(world.rounds.length, 3);
  assert.is(world.delivered, 3);
});

test('where nothing waits, one look in six lists adjustments, after a failure the next', async () => {
  world.flusher.start();
  await world.pass(1_100);
  assert.is(world.delivered, 1);
  await world.pass(6_500);
  assert.is(world.delivered, 2);
  assert.is(world.rounds.length, 0);

  world.open = 2;
  await world.pass(8_000);
  assert.is(world.delivered, 5, 'the third finds nothing');

  world.fails = true;
  await world.pass(6_000);
  assert.ok(world.flusher.getLastError() !== null);
  world.fails = false;
  await world.pass(2_100);
  assert.is(world.flusher.getLastError(), null);
});

test('where nothing waits, the store is called once per interval, and nothing is written', async () => {
  const world = await createWorld();
  const calls: string[] = [];
  world.hot.hooks.beforeOther = (verb) => void calls.push(verb);
  world.flusher.start();

  await world.pass(3_500);
  assert.equal(calls, ['backlog', 'backlog', 'backlog']);
  assert.equal(world.lagsMs, [0, 0, 0]);
});

test('an entity that changed while it was flushed stays dirty', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.before = async () => {
    world.before = () => {};
    await commit(world, clickOn(ref, '2'));
  };
  world.flusher.start();

  await world.pass(1_001);
  assert.is((await world.hot.countBacklog()).entities, 1);
  assert.is(world.ledger.totals.get(ref.incarnation)?.totals.clicks, 1);
  await world.pass(1_000);

  assert.is(world.ledger.totals.get(ref.incarnation)?.totals.clicks, 2);
  assert.is((await world.hot.countBacklog()).entities, 0);
});

test('nothing is acknowledged that the ledger did not take', async () => {
  await commit(world, initOf(ref), clickOn(ref), voteOf(ref, 'u', 'v1'));
  world.before = () => {
    throw busy();
  };
  world.flusher.start();

  await world.pass(1_500);

  assert.equal(await world.hot.countBacklog(), { entities: 1, votes: 1 });
  assert.is(world.receipts.length, 0);
  assert.match(String(world.flusher.getLastError()), /busy/);
  assert.is(world.metered.get('flush failed: busy'), 1);
});

test('the backlog is counted while the ledger fails, so that votes can be refused in time', async () => {
  world.flusher.start();
  world.before = () => {
    throw busy();
  };
  await commit(world, initOf(ref), voteOf(ref, 'u', 'v1'));
  await world.pass(1_500);
  assert.equal(world.flusher.getBacklogSize(), { entities: 1, votes: 1 });

  await commit(world, voteOf(ref, 'w', 'v2'));
  await world.pass(5_000);

  assert.equal(world.flusher.getBacklogSize(), { entities: 1, votes: 2 });
});

test('the backlog ages while the ledger does not answer, and is young again afterwards', async () => {
  world.flusher.start();
  await commit(world, initOf(ref), clickOn(ref));
  await world.pass(1_500);
  world.before = () => {
    throw busy();
  };
  await commit(world, clickOn(ref, '2'));

  await world.pass(60_000);

  assert.ok((world.lagsMs.at(-1) ?? 0) > 50_000);

  world.before = () => {};
  await world.pass(limits.flushBackoffMaxMs + 1);

  assert.is(world.lagsMs.at(-1), 0);
});

test('the backlog ages while a round hangs', async () => {
  world.flusher.start();
  await commit(world, initOf(ref), clickOn(ref));
  const { promise: hanging, resolve: answer } = Promise.withResolvers<void>();
  world.before = () => hanging;

  await world.pass(31_000);

  assert.is(world.rounds.length, 0);
  assert.ok((world.lagsMs.at(-1) ?? 0) >= 30_000, String(world.lagsMs));
  answer();
  await world.pass(1_500);

  assert.is(world.lagsMs.at(-1), 0);
  const reports = world.lagsMs.length;
  await world.pass(900);
  assert.ok(world.lagsMs.length <= reports + 1, 'no report outlives its round');
});

test('votes that come while a round hangs are counted, so that a full outbox pauses them', async () => {
  world.flusher.start();
  await commit(world, initOf(ref), voteOf(ref, 'u', 'v1'));
  const { promise: hanging, resolve: answer } = Promise.withResolvers<void>();
  world.before = () => hanging;
  await world.pass(1_001);
  await commit(world, voteOf(ref, 'w', 'v2'));
  const { votes } = await world.hot.countBacklog();
  await world.pass(2_000);

  assert.is(world.rounds.length, 0);
  assert.is(world.flusher.getBacklogSize().votes, votes);
  answer();
  await world.pass(1_500);

  assert.is(world.flusher.getBacklogSize().votes, 0);
});

test('under constant load the backlog is as old as the last round, not as the load', async () => {
  world.flusher.start();
  let visitor = 0;
  world.before = async () => {
    visitor += 1;
    await commit(world, clickOn(ref, String(visitor)));
  };
  await commit(world, initOf(ref), clickOn(ref, '0'));

  await world.pass(20_000);

  assert.ok(world.rounds.length >= 10);
  assert.ok((await world.hot.countBacklog()).entities > 0);
  assert.ok(Math.max(...world.lagsMs) < 2_000, String(world.lagsMs));
});

test('while the ledger does not answer the pause doubles, and is bounded', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  const times: number[] = [];
  world.before = () => {
    times.push(world.driver.nowMs());
    throw busy();
  };
  world.flusher.start();

  await world.pass(30_000);

  const pauses = times.slice(1).map((time, index) => time - (times[index] as number));
  assert.equal(pauses.slice(0, 3), [2_000, limits.flushBackoffMaxMs, limits.flushBackoffMaxMs]);
});

test('when the ledger answers again the backlog is flushed, and the error is gone', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.before = () => {
    throw busy();
  };
  world.flusher.start();
  await world.pass(1_500);
  world.before = () => {};

  await world.pass(3_000);

  assert.is(world.flusher.getLastError(), null);
  assert.is(world.rounds.length, 1);
});

test('halving finds the one poisoned vote, and only that becomes a dead letter', async () => {
  await commit(world, initOf(ref));
  for (let index = 0; index < 13; index++) await commit(world, voteOf(ref, `user-${index}`, `v${index}`));
  world.before = (round) => {
    if (round.votes.some((vote) => vote.user === 'user-5')) throw rowError();
  };
  world.flusher.start();

  await world.pass(1_001);

  assert.equal(
    world.ledger.deadLetters.map((row) => row.vote?.itag),
    ['v5'],
  );
  assert.is(world.ledger.votes.size, 12);
  assert.is(world.metered.get('dead letters'), 1);
  assert.equal(await world.hot.countBacklog(), { entities: 0, votes: 0 });
});

test('a poisoned entity becomes a dead letter, and its neighbours are stored', async () => {
  const refs = ['a', 'b', 'c', 'd', 'e'].map((id) => found(world, id));
  for (const ref of refs) await commit(world, initOf(ref), clickOn(ref));
  world.before = (round) => {
    if (round.entities.some((entity) => entity.ref.id === 'c')) throw rowError();
  };
  world.flusher.start();

  await world.pass(1_001);

  assert.equal(
    world.ledger.deadLetters.map((row) => row.entity?.ref.id),
    ['c'],
  );
  const stored = refs.filter((ref) => world.ledger.totals.get(ref.incarnation)?.totals.clicks === 1);
  assert.equal(pluck(stored, 'id'), ['a', 'b', 'd', 'e']);
});

test('a ledger that fails while halving causes no dead letter', async () => {
  await commit(world, initOf(ref), voteOf(ref, 'u1', 'v1'), voteOf(ref, 'u2', 'v2'));
  world.before = (round) => {
    throw round.votes.length + round.entities.length > 1 ? rowError() : busy();
  };
  world.flusher.start();

  await world.pass(1_001);

  assert.equal(world.ledger.deadLetters, []);
  assert.is((await world.hot.countBacklog()).votes, 2);
});

test('a caller that needs past votes gets an early round', async () => {
  world.flusher.start();
  await commit(world, initOf(ref), voteOf(ref, 'u', 'v1'));

  await world.until(world.flusher.waitForFlush(ref.shard));

  assert.ok(world.driver.nowMs() < 100);
  assert.is(world.ledger.votes.size, 1);
});

test('a caller that needs the votes of a shard without any does not wait', async () => {
  const ref = botRef('a');

  await world.until(world.flusher.waitForFlush(ref.shard));

  assert.is(world.rounds.length, 0);
});

test('a flush request that comes during a round is served after it', async () => {
  await commit(world, initOf(ref), clickOn(ref));
  world.before = () => world.driver.pause(200);
  world.flusher.start();
  await world.pass(1_100);
  await commit(world, voteOf(ref, 'u', 'v1'));

  await world.until(world.flusher.waitForFlush(ref.shard));

  assert.ok(world.ledger.votes.has('v1'));
});

test('a flush request that is not served within a second fails', async () => {
  await commit(world, initOf(ref), voteOf(ref, 'u', 'v1'));
  world.before = () => {
    throw busy();
  };
  world.flusher.start();

  assert.is(await world.until(codeOf(world.flusher.waitForFlush(ref.shard))), 'store_unavailable');

  assert.is(world.driver.nowMs(), limits.flushWaitMs);
});

test('flush requests that ran out of time during a flush take no room from later ones', async () => {
  await commit(world, initOf(ref), voteOf(ref, 'u', 'v1'));
  world.before = () => world.driver.pause(100);
  world.flusher.start();
  const first = world.flusher.waitForFlush(ref.shard);
  await world.pass(50);
  world.before = async () => {
    await world.driver.pause(1_500);
    throw busy();
  };
  await commit(world, voteOf(ref, 'w', 'v2'));
  const late = Array.from({ length: limits.flushRequestsMax }, () =>
    codeOf(world.flusher.waitForFlush(ref.shard)),
  );
  await world.pass(2_750);
  world.before = () => {};
  const next = codeOf(world.flusher.waitForFlush(ref.shard));
  await world.pass(1_000);

  await first;
  assert.equal(new Set(await Promise.all(late)), new Set(['store_unavailable']));
  assert.is(await next, 'resolved');
});

test('a flush request waits only for the votes of its time, also while new ones keep coming', async () => {
  await commit(world, initOf(ref), voteOf(ref, 'first', 'v0'));
  let coming = 0;
  world.before = async () => {
    coming += 1;
    await world.driver.pause(30);
    await commit(world, voteOf(ref, `later-${coming}`, `w${coming}`));
  };
  world.flusher.start();

  await world.until(world.flusher.waitForFlush(ref.shard));

  assert.ok(world.ledger.votes.has('v0'));
  assert.ok(coming <= 2, `${coming} rounds`);
});

test('a stopped flusher makes no round', async () => {
  world.flusher.start();
  await world.flusher.drain(0);

  await world.pass(5_000);
  assert.is(world.delivered, 0);
});

test('only the assigned shards are flushed', async () => {
  const [mine, theirs] = [botRef('bot-0'), botRef('bot-1')];
  await commit(world, initOf(mine), clickOn(mine));
  await commit(world, initOf(theirs), clickOn(theirs));
  world.shards = [mine.shard];
  world.flusher.start();
  await world.pass(2_500);
  assert.equal(
    world.rounds.flatMap(({ round }) => round.entities.map(({ ref }) => ref.id)),
    [mine.id],
  );
});

test.run();

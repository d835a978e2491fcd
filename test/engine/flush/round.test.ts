/**
 * What of a full backlog goes to SQL in one round: requests as a whole, totals with all their votes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isFull, takeRound } from '../../../engine/flush/round.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { Backlog, DirtyEntity, OutboxVote } from '../../../engine/ports.ts';
import { clickOn, initOf } from '../kit.ts';
import { commit, createWorld, found } from './flusher-world.ts';

const test = suite('round of a flush');

/** Ids of requests of two votes each, a millisecond apart, the first without its first vote. */
const makeVotes = (ref: EntityRef, count: number): OutboxVote[] =>
  Array.from({ length: count }, (_, index) => {
    const request = (index + 1) >> 1;
    const itag = `0190f3b7-${request.toString(16).padStart(4, '0')}-7000-8000-00000000000${(index + 1) & 1}`;
    const fields = { upvote: true, atMs: request, voteNumber: (index + 1) & 1 };
    return { itag, ref, user: `user ${request}`, ...fields };
  });

test('a full read ends between two requests, and takes no total with a vote that waits', async () => {
  const { ledger } = await createWorld();
  const [one, other] = [ledger.list('bot', 'a'), ledger.list('bot', 'b')];
  const votes = makeVotes(one, limits.flushVotesMax);
  const entities = [{ ref: one }, { ref: other }] as unknown as DirtyEntity[];
  const full: Backlog = { entities, votes };
  const round = takeRound(full);

  assert.ok(isFull(full));
  assert.is(round.votes.length, limits.flushVotesMax - 1);
  assert.is(round.votes.at(-1)?.voteNumber, 1);
  assert.equal(
    round.entities.map(({ ref }) => ref.id),
    ['b'],
  );
});

test('a read that is not full, or whose votes are all of one millisecond, is flushed as it is', async () => {
  const { ledger } = await createWorld();
  const ref = ledger.list('bot', 'a');
  const some = { entities: [], votes: makeVotes(ref, 3) };
  assert.is(takeRound(some), some);
  const [vote] = makeVotes(ref, 1);
  const moment = {
    entities: [],
    votes: Array.from({ length: limits.flushVotesMax }, () => vote as OutboxVote),
  };
  assert.is(takeRound(moment), moment);
});

test('of a full read the flusher leaves the votes of the last millisecond for the next round', async () => {
  const world = await createWorld();
  const ref = found(world, 'a');
  await commit(world, initOf(ref), clickOn(ref));
  const { peek } = world.hot;
  const waiting = [{ entities: [], votes: makeVotes(ref, limits.flushVotesMax) }];
  world.hot.peek = async (limit) => waiting.shift() ?? peek(limit);
  const written: number[] = [];
  world.before = ({ votes }) => void written.push(votes.length);
  world.flusher.start();
  await world.pass(1_001);

  assert.is(written[0], limits.flushVotesMax - 1);
});

test.run();

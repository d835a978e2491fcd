/**
 * Pending votes: votes that wait behind a pending one share its outcome.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  addWaiter,
  failWaiters,
  type PendingVote,
  releaseWaiters,
  toVoteOutcome,
  type VoteWaiter,
} from '../../../engine/actors/actor.ts';
import type { TurnFailure } from '../../../engine/commit/shard-queue.ts';
import type { VoteOutcome } from '../../../engine/engine.ts';
import { limits } from '../../../engine/limits.ts';

const test = suite('pending votes');

interface WaitingVote extends VoteWaiter {
  outcome: VoteOutcome | null;
  failure: TurnFailure | null;
}
const createPending = (): PendingVote => ({ waiters: [], outcomeUnknown: false });
const createWaitingVote = (): WaitingVote => {
  const vote: WaitingVote = {
    outcome: null,
    failure: null,
    resolve: (outcome) => {
      vote.outcome = outcome;
    },
    fail: (failure) => {
      vote.failure = failure;
    },
  };
  return vote;
};

test('when the first vote is refused, those behind it are refused for the same reason', () => {
  for (const reason of ['wait', 'not_listed', 'vote_banned', 'clock_ahead', 'clock_behind'] as const) {
    const pending = createPending();
    const vote = createWaitingVote();
    addWaiter(pending, vote);

    releaseWaiters(pending, { kind: 'refused', reason, waitMs: 7 }, 5_000);

    assert.equal(vote.outcome, { kind: 'refused', reason, waitMs: 7 });
  }
});

test('only a bounded number of votes waits behind a pending vote', () => {
  const pending = createPending();
  for (let index = 0; index < limits.voteWaitersMax; index++) addWaiter(pending, createWaitingVote());
  const vote = createWaitingVote();

  addWaiter(pending, vote);

  assert.equal(vote.failure, { outcome: 'not_applied', code: 'overloaded' });
  assert.is(pending.waiters.length, limits.voteWaitersMax);
});

test('a waiting vote is answered once', () => {
  const pending = createPending();
  const vote = createWaitingVote();
  addWaiter(pending, vote);
  releaseWaiters(pending, { kind: 'voted', count: 1 }, 1);

  failWaiters(pending, { outcome: 'unknown', code: 'deadline_passed' });

  assert.is(vote.failure, null);
});

test('the wait is the time from now until the time that the store names', () => {
  const refused = { kind: 'refused', reason: 'wait', retryAtMs: 1_500 } as const;

  assert.equal(toVoteOutcome(refused, 1_000), { kind: 'refused', reason: 'wait', waitMs: 500 });
  assert.equal(toVoteOutcome(refused, 2_000), { kind: 'refused', reason: 'wait', waitMs: 0 });
  assert.equal(toVoteOutcome({ kind: 'voted', count: 2 }, 0), { kind: 'voted', count: 2 });
});

test('absent and forgotten are no outcome of a vote', () => {
  assert.is(toVoteOutcome({ kind: 'absent' }, 0), null);
  assert.is(toVoteOutcome({ kind: 'forgotten' }, 0), null);
});

test.run();

/**
 * Pending votes: at most one per user and entity goes to the store; the user's later ones share its
 * outcome.
 *
 * They need not be sent: they stand after the first in order, and whatever the store says of the first
 * already decides them. Accepted: the window is taken, so they are refused with the wait it leaves. Refused:
 * for the same reason, they are too. Failed: nothing of theirs was sent, so they are answered `not_applied`.
 * Bound: `limits.voteWaitersMax` per user and entity. Pure but for the callbacks it is given.
 */

import type { TurnFailure } from '../commit/shard-queue.ts';
import type { VoteOutcome } from '../engine.ts';
import type { Decision } from '../entity/items.ts';
import { limits } from '../limits.ts';

export interface VoteWaiter {
  resolve(outcome: VoteOutcome): void;
  fail(failure: TurnFailure): void;
}

/** One user's vote on one entity until the store has decided it. */
export interface PendingVote {
  waiters: VoteWaiter[];
  /** Its waiter's deadline passed: the outcome is open, so no vote may wait behind it any more. */
  outcomeUnknown: boolean;
}

/** The pending votes of one entity, by user. Nearly always there is one at a time: a map is made for more. */
export class PendingVotes {
  private user = '';
  private only: PendingVote | null = null;
  private more: Map<string, PendingVote> | null = null;

  find(user: string): PendingVote | undefined {
    if (this.only !== null && this.user === user) return this.only;
    return this.more?.get(user);
  }

  add(user: string, pending: PendingVote): void {
    if (this.only === null) {
      this.user = user;
      this.only = pending;
    } else {
      this.more ??= new Map();
      this.more.set(user, pending);
    }
  }

  remove(user: string, pending: PendingVote): void {
    if (this.only === pending) this.only = null;
    else if (this.more?.get(user) === pending) this.more.delete(user);
  }

  isEmpty(): boolean {
    return this.only === null && (this.more === null || this.more.size === 0);
  }
}

/** Puts a later vote behind the pending one, or fails it when that is full or undecided. */
export const addWaiter = (pending: PendingVote, vote: VoteWaiter): void => {
  if (pending.outcomeUnknown) vote.fail({ outcome: 'not_applied', code: 'store_unavailable' });
  else if (pending.waiters.length >= limits.voteWaitersMax)
    vote.fail({ outcome: 'not_applied', code: 'overloaded' });
  else pending.waiters.push(vote);
};

/** Resolves the parked votes with what the first one's outcome means for them. */
export const releaseWaiters = (pending: PendingVote, outcome: VoteOutcome, waitMs: number): void => {
  const parked = pending.waiters;
  pending.waiters = [];
  const refused: VoteOutcome =
    outcome.kind === 'voted' ? { kind: 'refused', reason: 'wait', waitMs } : outcome;
  for (const vote of parked) vote.resolve(refused);
};

/** The first one got no decision: nothing of the parked ones was sent. */
export const failWaiters = (pending: PendingVote, failure: TurnFailure): void => {
  const parked = pending.waiters;
  pending.waiters = [];
  pending.outcomeUnknown = true;
  for (const vote of parked) vote.fail({ outcome: 'not_applied', code: failure.code });
};

/** The outcome of a vote as a client sees it; `null` for a decision that is no answer (absent, forgotten). */
export const toVoteOutcome = (decision: Decision, nowMs: number): VoteOutcome | null => {
  if (decision.kind === 'voted') return { kind: 'voted', count: decision.count };
  if (decision.kind !== 'refused') return null;
  const waitMs = decision.reason === 'wait' ? Math.max(0, decision.retryAtMs - nowMs) : 0;
  return { kind: 'refused', reason: decision.reason, waitMs };
};

/**
 * Pending votes: at most one vote per user and entity goes to the store; the user's later votes wait for it
 * and share its outcome.
 *
 * The later votes need not be sent, because the first one's outcome decides them. Accepted: its window is in
 * force, so they are refused with the wait it leaves. Refused: they are refused for the same reason. Failed:
 * they were never sent, so they fail with `not_applied`. Bound: `limits.voteWaitersMax` per user and entity.
 * Pure except for the callbacks of the waiters.
 */

import type { TurnFailure } from '../commit/shard-queue.ts';
import type { VoteOutcome } from '../engine.ts';
import type { Decision } from '../entity/items.ts';
import { limits } from '../limits.ts';

/** A later vote that waits for the pending one. */
export interface VoteWaiter {
  resolve(outcome: VoteOutcome): void;
  fail(failure: TurnFailure): void;
}

/** One user's vote on one entity, until the store has decided it. */
export interface PendingVote {
  waiters: VoteWaiter[];
  /** Its deadline passed and its outcome is unknown, so no vote may wait behind it. */
  outcomeUnknown: boolean;
}

/** The pending votes of one entity, by user. Nearly always there is only one; a map is created for more. */
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

/** Adds a vote behind the pending one, or fails it: too many wait, or the outcome is unknown. */
export const addWaiter = (pending: PendingVote, vote: VoteWaiter): void => {
  if (pending.outcomeUnknown) vote.fail({ outcome: 'not_applied', code: 'store_unavailable' });
  else if (pending.waiters.length >= limits.voteWaitersMax)
    vote.fail({ outcome: 'not_applied', code: 'overloaded' });
  else pending.waiters.push(vote);
};

/** Answers the waiting votes according to the pending vote's outcome; `waitMs` is its window's wait. */
export const releaseWaiters = (pending: PendingVote, outcome: VoteOutcome, waitMs: number): void => {
  const { waiters } = pending;
  pending.waiters = [];
  const refused: VoteOutcome =
    outcome.kind === 'voted' ? { kind: 'refused', reason: 'wait', waitMs } : outcome;
  for (const waiter of waiters) waiter.resolve(refused);
};

/** Fails the waiting votes, which were never sent, because the pending vote got no decision. */
export const failWaiters = (pending: PendingVote, failure: TurnFailure): void => {
  const { waiters } = pending;
  pending.waiters = [];
  pending.outcomeUnknown = true;
  for (const waiter of waiters) waiter.fail({ outcome: 'not_applied', code: failure.code });
};

/** Converts a decision to the outcome that a client sees; `null` for other decisions, such as `overflow`. */
export const toVoteOutcome = (decision: Decision, nowMs: number): VoteOutcome | null => {
  if (decision.kind === 'voted') return { kind: 'voted', count: decision.count };
  if (decision.kind !== 'refused') return null;
  const waitMs = decision.reason === 'wait' ? Math.max(0, decision.retryAtMs - nowMs) : 0;
  return { kind: 'refused', reason: decision.reason, waitMs };
};

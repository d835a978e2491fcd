/**
 * Votes on their way: at most one per user and entity goes to the store; the user's later ones share its
 * fate.
 *
 * Why they need not be sent: they stand after the first in order, and whatever the store says of the first
 * already decides them. Accepted: the window is taken, so they are refused with the wait it leaves. Refused:
 * for the same reason, they are too. Failed: nothing of theirs was sent, so they are answered `not_applied`.
 * Bound: `limits.parkedVotesMax` per user and entity. Pure but for the callbacks it is given.
 */
import type { VoteOutcome } from './engine.ts';
import type { Decision } from './entity/items.ts';
import { limits } from './limits.ts';
import type { TurnFailure } from './shard.ts';

export interface ParkedVote {
  resolve(outcome: VoteOutcome): void;
  fail(failure: TurnFailure): void;
}

/** One user's vote on one entity until the store has decided it. */
export interface Ballot {
  parked: ParkedVote[];
  /** Its waiter's deadline passed: the outcome is open, so nobody may wait behind it any more. */
  undecided: boolean;
}

export const createBallot = (): Ballot => ({ parked: [], undecided: false });

/** The ballots of one entity, by user. Nearly always there is one at a time: a map is made for more. */
export class Ballots {
  private user = '';
  private only: Ballot | null = null;
  private more: Map<string, Ballot> | null = null;

  of(user: string): Ballot | undefined {
    if (this.only !== null && this.user === user) return this.only;
    return this.more?.get(user);
  }

  add(user: string, ballot: Ballot): void {
    if (this.only === null) {
      this.user = user;
      this.only = ballot;
    } else {
      this.more ??= new Map();
      this.more.set(user, ballot);
    }
  }

  remove(user: string, ballot: Ballot): void {
    if (this.only === ballot) this.only = null;
    else if (this.more?.get(user) === ballot) this.more.delete(user);
  }

  empty(): boolean {
    return this.only === null && (this.more === null || this.more.size === 0);
  }
}

/** Puts a later vote behind the ballot, or fails it when that is full or undecided. */
export const park = (ballot: Ballot, vote: ParkedVote): void => {
  if (ballot.undecided) vote.fail({ outcome: 'not_applied', code: 'store_unavailable' });
  else if (ballot.parked.length >= limits.parkedVotesMax)
    vote.fail({ outcome: 'not_applied', code: 'overloaded' });
  else ballot.parked.push(vote);
};

/** Tells the parked votes what the first one's outcome means for them. */
export const releaseParked = (ballot: Ballot, outcome: VoteOutcome, waitMs: number): void => {
  const parked = ballot.parked;
  ballot.parked = [];
  const refused: VoteOutcome =
    outcome.kind === 'voted' ? { kind: 'refused', reason: 'wait', waitMs } : outcome;
  for (const vote of parked) vote.resolve(refused);
};

/** The first one got no decision: nothing of the parked ones was sent. */
export const failParked = (ballot: Ballot, failure: TurnFailure): void => {
  const parked = ballot.parked;
  ballot.parked = [];
  ballot.undecided = true;
  for (const vote of parked) vote.fail({ outcome: 'not_applied', code: failure.code });
};

/** The outcome of a vote as a client sees it; `null` for a decision that is no answer (absent, forgotten). */
export const voteOutcome = (decision: Decision, nowMs: number): VoteOutcome | null => {
  if (decision.kind === 'voted') return { kind: 'voted', count: decision.count };
  if (decision.kind !== 'refused') return null;
  const waitMs = decision.reason === 'wait' ? Math.max(0, decision.retryAtMs - nowMs) : 0;
  return { kind: 'refused', reason: decision.reason, waitMs };
};

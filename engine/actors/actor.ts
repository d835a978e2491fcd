/**
 * The actor of one entity: the live cache of its committed state, and its users' pending votes. When another
 * node has changed the entity, the state is stale; the actor keeps the reference that turns need.
 *
 * A class, because there are hundreds of thousands of actors with one object shape. It never decides
 * anything: the hot store does. Only a reply of the store replaces its committed state, which is never
 * modified in place, so a reader never sees a change that a crash can undo. Invariant (I8): within one
 * generation the version never falls.
 *
 * At most one vote per user and entity goes to the store; the user's later votes wait for it and share its
 * outcome. They need not be sent, because the first one's outcome decides them. Accepted: its window is in
 * force, so they are refused with the wait it leaves. Refused: they are refused for the same reason. Failed:
 * they were never sent, so they fail with `not_applied`. Bound: `limits.voteWaitersMax` per user and entity.
 */
import assert from 'node:assert/strict';
import type { TurnFailure } from '../commit/shard-queue.ts';
import type { EntityView, VoteOutcome } from '../engine.ts';
import type { Decision, UptimeRules } from '../entity/items.ts';
import { type HotState, type LazyState, toLazyState } from '../entity/state.ts';
import { foldUptime } from '../entity/uptime.ts';
import type { EntityRef } from '../ids.ts';
import { limits } from '../limits.ts';

export class Actor {
  readonly ref: EntityRef;
  readonly generation: number;
  private state: LazyState;
  private view: EntityView | null = null;
  private viewTick = 0;
  /** A state of a lower version is stale: another node has changed the entity since. */
  private staleBelow = 0;
  /** The number of its turns in the output gate; an actor with any is not passivated. */
  pendingTurns = 0;
  /** Set by every use, cleared by the passivation clock. */
  used = true;
  /** The registry tracks it, because not all its votes are known to be flushed. */
  unflushed = false;
  /** Votes whose turns are in the output gate, by user; `null` if there are none. */
  pendingVotes: Map<string, PendingVote> | null = null;

  constructor(ref: EntityRef, generation: number, state: LazyState) {
    this.ref = ref;
    this.generation = generation;
    this.state = state;
  }

  getLazyState(): LazyState {
    return this.state;
  }

  readState(): HotState {
    return this.state.read();
  }

  /** Whether the ledger is known to have all its votes. */
  hasFlushedVotes(): boolean {
    return this.state.votes === this.state.flushedVotes;
  }

  /** Upvotes minus downvotes as last known to be in the ledger. */
  getFlushedVotes(): number {
    return this.state.flushedVotes;
  }

  /**
   * Adopts the state of a reply unless its version is lower than the committed one's; returns whether it did.
   * Adopts a state of equal version: a store that fell back uses a version twice.
   */
  adopt(generation: number, state: LazyState): boolean {
    assert(generation === this.generation, 'versions of two generations cannot be compared');
    if (state === this.state || state.version < this.state.version) return false;
    this.state = state;
    this.view = null;
    return true;
  }

  /** Whether the state may be shown. Turns need none: the store's reply brings it. */
  isCurrent(): boolean {
    return this.state.version >= this.staleBelow;
  }

  /** Another node changed the entity at this version. */
  markStale(version: number): void {
    if (version > this.staleBelow) this.staleBelow = version;
  }

  /** The same for an entity whose version did not change. */
  markFlushStale(): void {
    this.markStale(this.state.version + 1);
  }

  /** Adopts a state that was loaded after all changes below version `staleBelow`. */
  reload(state: LazyState, staleBelow: number): void {
    if (state.version >= this.state.version) {
      this.state = state;
      this.view = null;
    }
    this.staleBelow = staleBelow;
  }

  /** Records the flushed votes, which have no new version; returns whether the number changed. */
  adoptFlushedVotes(flushedVotes: number): boolean {
    if (flushedVotes === this.state.flushedVotes) return false;
    this.state = toLazyState({ ...this.state.read(), flushedVotes });
    this.view = null;
    return true;
  }

  /** The committed state with uptime computed up to now. Returns the same object until either changes. */
  readView(nowMs: number, rules: UptimeRules): EntityView {
    const tick = Math.floor(nowMs / rules.checkMs);
    if (this.view === null || this.viewTick !== tick) {
      this.view = { ref: this.ref, state: foldUptime(this.state.read(), nowMs, rules) };
      this.viewTick = tick;
    }
    return this.view;
  }
}

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

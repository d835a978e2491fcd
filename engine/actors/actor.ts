/**
 * The actor of one entity: the live cache of its committed state, and its users' pending votes. When another
 * node has changed the entity, the state is stale; the actor keeps the reference that turns need.
 *
 * A class, because there are hundreds of thousands of actors with one object shape. It never decides
 * anything: the hot store does. Only a reply of the store replaces its committed state, which is never
 * modified in place, so a reader never sees a change that a crash can undo. Invariant (I8): within one
 * generation the version never falls.
 */
import assert from 'node:assert/strict';
import type { EntityView } from '../engine.ts';
import { type HotState, type LazyState, toLazyState } from '../entity/state.ts';
import { foldUptime } from '../entity/uptime.ts';
import type { UptimeRules } from '../entity/windows.ts';
import type { EntityRef } from '../ids.ts';
import type { PendingVotes } from './pending-votes.ts';

export class Actor {
  readonly ref: EntityRef;
  readonly generation: number;
  private state: LazyState;
  private view: EntityView | null;
  private viewTick: number;
  /** A state of a lower version is stale: another node has changed the entity since. */
  private staleBelow: number;
  /** The number of its turns in the output gate; an actor with any is not passivated. */
  pendingTurns: number;
  /** Set by every use, cleared by the passivation clock. */
  used: boolean;
  /** The registry tracks it, because not all its votes are known to be flushed. */
  unflushed: boolean;
  /** Votes whose turns are in the output gate; `null` if there are none. */
  pendingVotes: PendingVotes | null;

  constructor(ref: EntityRef, generation: number, state: LazyState) {
    this.ref = ref;
    this.generation = generation;
    this.state = state;
    this.view = null;
    this.viewTick = 0;
    this.staleBelow = 0;
    this.pendingTurns = 0;
    this.used = true;
    this.unflushed = false;
    this.pendingVotes = null;
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

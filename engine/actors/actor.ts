/**
 * The actor of one entity: the live cache of its committed state, and the users whose vote is on its way.
 *
 * A class because there are hundreds of thousands of them with one shape. It never decides anything: the
 * hot store does. Its committed state is replaced, never written to, and only by a reply of the store, so a
 * reader can never see what a crash takes back. Invariant (I8): within one generation the version never
 * falls.
 */
import assert from 'node:assert/strict';
import type { EntityView } from '../engine.ts';
import { type LazyState, toLazyState } from '../entity/lazy-state.ts';
import type { HotState } from '../entity/state.ts';
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
  /** Commands whose turns are in the gate; an actor with any is not passivated. */
  pendingTurns: number;
  /** Set by every use, cleared by the passivation hand. */
  used: boolean;
  /** Its votes are not flushed, as far as is known: the registry's note. */
  unflushed: boolean;
  /** Votes whose turns are in the gate; `null` while there are none. */
  pendingVotes: PendingVotes | null;

  constructor(ref: EntityRef, generation: number, state: LazyState) {
    this.ref = ref;
    this.generation = generation;
    this.state = state;
    this.view = null;
    this.viewTick = 0;
    this.pendingTurns = 0;
    this.used = true;
    this.unflushed = false;
    this.pendingVotes = null;
  }

  readState(): HotState {
    return this.state.read();
  }

  /** Whether the ledger has its votes, as far as is known. */
  hasFlushedVotes(): boolean {
    return this.state.votes === this.state.flushedVotes;
  }

  /** Its votes in the ledger, as far as is known. */
  getFlushedVotes(): number {
    return this.state.flushedVotes;
  }

  /**
   * Adopts the state of a reply, unless the version is lower than that of the committed state; returns
   * whether it did. A state of an equal version is adopted: a store that fell back gives a version twice.
   */
  adopt(generation: number, state: LazyState): boolean {
    assert(generation === this.generation, 'versions of two generations cannot be compared');
    if (state === this.state || state.version < this.state.version) return false;
    this.state = state;
    this.view = null;
    return true;
  }

  /** Records what was flushed, and says whether that was news; no new version comes with it. */
  adoptFlushedVotes(flushedVotes: number): boolean {
    if (flushedVotes === this.state.flushedVotes) return false;
    this.state = toLazyState({ ...this.state.read(), flushedVotes });
    this.view = null;
    return true;
  }

  /** The committed state with uptime folded to now. The same object until either changes. */
  readView(nowMs: number, rules: UptimeRules): EntityView {
    const tick = Math.floor(nowMs / rules.checkMs);
    if (this.view === null || this.viewTick !== tick) {
      this.view = { ref: this.ref, state: foldUptime(this.state.read(), nowMs, rules) };
      this.viewTick = tick;
    }
    return this.view;
  }
}

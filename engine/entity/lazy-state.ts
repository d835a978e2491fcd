/**
 * A state in a store's reply: the fields that every reply needs at once, and the rest unpacked on demand.
 *
 * The next post replaces most states before any reader needs them, so a store may return them packed. Pure.
 */
import type { HotState } from './state.ts';

export interface LazyState {
  readonly version: number;
  /** Upvotes minus downvotes. */
  readonly votes: number;
  readonly flushedVotes: number;
  /** The whole state; returns the same object each time. */
  read(): HotState;
}

class LoadedState implements LazyState {
  readonly version: number;
  readonly votes: number;
  readonly flushedVotes: number;
  private readonly state: HotState;

  constructor(state: HotState) {
    this.version = state.version;
    this.votes = state.upvotes - state.downvotes;
    this.flushedVotes = state.flushedVotes;
    this.state = state;
  }

  read(): HotState {
    return this.state;
  }
}

/** Wraps a state that is already unpacked. */
export const toLazyState = (state: HotState): LazyState => new LoadedState(state);

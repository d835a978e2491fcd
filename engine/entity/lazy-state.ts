/**
 * A state as a store's reply brings it: what every reply is judged by at once, the rest when somebody looks.
 *
 * Most states are replaced by the next post before anybody reads them, so a store may hand over one that is
 * still packed. Pure. Made by the stores, kept by the actors.
 */
import type { HotState } from './state.ts';

export interface LazyState {
  readonly version: number;
  /** Up minus down. */
  readonly votes: number;
  readonly flushedVotes: number;
  /** The whole state: the same object each time. */
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

/** Of a state that lies open. */
export const toLazyState = (state: HotState): LazyState => new LoadedState(state);

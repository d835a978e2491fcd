/**
 * What an adapter's test file gives to the conformance suite: how to open a fresh store, and how long to run.
 *
 * Types only. Implemented by each adapter's test file; used by conformance.ts and examples.ts. The caller
 * owns the store that it opened, until `dispose`.
 */
import type { HotStore } from '../../../engine/ports.ts';

export interface OpenedStore {
  store: HotStore;
  /** Closes the store and opens it again on the same data; absent if the store cannot do that. */
  reopen?: () => Promise<HotStore>;
  /** Closes the store and removes its data. */
  dispose(): Promise<void>;
}
export interface Harness {
  open(clock: () => number): Promise<OpenedStore>;
  readonly sequences: number;
  readonly operationsPerSequence: number;
  /** The store lists recent changes; otherwise it may answer that it does not know them. */
  readonly listsChanges?: boolean;
}

/**
 * What an adapter's test file gives to the conformance suite: how to open a fresh store, and how long to run.
 *
 * Types only. Implemented by each adapter's test file; used by conformance.ts and examples.ts. A store that
 * was opened belongs to who asked for it, until `dispose`.
 */
import type { HotStore } from '../../../engine/ports.ts';

export interface OpenedStore {
  store: HotStore;
  /** Closes and opens again on the same data; the stores that cannot leave it out. */
  reopen?: () => Promise<HotStore>;
  /** Closes and removes everything. */
  dispose(): Promise<void>;
}
export interface Harness {
  open(clock: () => number): Promise<OpenedStore>;
  readonly sequences: number;
  readonly operationsPerSequence: number;
}

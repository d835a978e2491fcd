/**
 * Runs long work on all listings in short steps, so that other statements never wait long for one of them.
 *
 * A step takes a number of listings that follows from how long the steps before took: the embedded SQL has
 * one thread, and a listing costs it more than a server.
 */

export interface StepResult {
  /** The position after which the next step continues; larger numbers are decimal strings. */
  readonly position: number | string;
  readonly isLast: boolean;
}

export interface StepOptions {
  readonly monotonicMs: () => number;
  /** Aborted when the work should end early. */
  readonly signal: AbortSignal;
}

/** How long a step should take; one that takes longer is followed by a smaller one. */
const stepMs = 25;
const listings = { min: 100, first: 1_000, max: 20_000 };

/** Calls `step` until it has done the last one. Throws the signal's reason when it is aborted. */
export const runInSteps = async (
  { monotonicMs, signal }: StepOptions,
  from: number | string,
  step: (position: number | string, limit: number) => Promise<StepResult>,
): Promise<void> => {
  let position = from;
  let limit = listings.first;
  for (;;) {
    signal.throwIfAborted();
    const startedMs = monotonicMs();
    const result = await step(position, limit);
    if (result.isLast) return;
    position = result.position;
    const factor = stepMs / Math.max(1, monotonicMs() - startedMs);
    limit = Math.round(Math.min(listings.max, Math.max(listings.min, limit * Math.min(2, factor))));
  }
};

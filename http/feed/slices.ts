/**
 * Runs long work in short slices between other events, so that ten thousand messages delay no request by more
 * than a slice.
 *
 * Jobs run one after the other. The number of jobs is bounded by their owners. Used by feed.ts.
 */
import type { Clock } from '../../engine/ports.ts';

/** Does one step; returns whether there are more. Must not throw. */
export type Job = () => boolean;

export interface Slices {
  add(job: Job): void;
  /** Jobs that are not done. */
  count(): number;
}

const sliceMs = 0.25;
/** The clock is read once per so many steps. */
const stepsPerReading = 8;

export const createSlices = (clock: Pick<Clock, 'monotonicMs'>): Slices => {
  const jobs = new Set<Job>();
  const run = (): void => {
    const endMs = clock.monotonicMs() + sliceMs;
    let steps = 0;
    for (const job of jobs) {
      while (job()) {
        steps += 1;
        if (steps % stepsPerReading !== 0 || clock.monotonicMs() < endMs) continue;
        setImmediate(run);
        return;
      }
      jobs.delete(job);
    }
  };
  return {
    add: (job) => {
      if (jobs.size === 0) setImmediate(run);
      jobs.add(job);
    },
    count: () => jobs.size,
  };
};

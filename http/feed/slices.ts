/**
 * Runs long work in short slices between other events, so that ten thousand messages delay no request by more
 * than a slice.
 *
 * Jobs run one after the other. The number of jobs is bounded by their owners.
 */
import type { Clock } from '../../engine/ports.ts';

/** Does one step; returns whether there are more. Must not throw. */
type Job = () => boolean;

const sliceMs = 0.25;
/** The clock is read once in this many steps. */
const stepsPerReading = 8;
/** Steps of a slice while a request waits: its answer needs several turns of the event loop. */
const stepsWhileBusy = 2;

/** Creates the queue of jobs. `isBusy` says whether a request waits for the store. */
export const createSlices = (clock: Pick<Clock, 'monotonicMs'>, isBusy: () => boolean) => {
  const jobs = new Set<Job>();
  const run = (): void => {
    const endMs = clock.monotonicMs() + sliceMs;
    let steps = 0;
    const isOver = (): boolean =>
      isBusy() ? steps >= stepsWhileBusy : steps % stepsPerReading === 0 && clock.monotonicMs() >= endMs;
    for (const job of jobs) {
      while (job()) {
        steps += 1;
        if (!isOver()) continue;
        setImmediate(run);
        return;
      }
      jobs.delete(job);
    }
  };
  return {
    add: (job: Job) => {
      if (jobs.size === 0) setImmediate(run);
      jobs.add(job);
    },
    /** Jobs that are not done. */
    count: () => jobs.size,
  };
};
export type Slices = ReturnType<typeof createSlices>;

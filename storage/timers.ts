/**
 * Repeats a task at an interval, and bounds the wait for a promise.
 *
 * A task has one run at a time, and its next run only after the last one has ended. A failed run is reported,
 * and the next run follows as usual. The interval does not keep the process alive.
 */
import { toError } from '../engine/errors.ts';
import { alignPause } from '../engine/tools/align-pause.ts';

/**
 * Runs `task` about `intervalMs` after now, then after the end of each run (see `alignPause`). Returns a
 * function that cancels.
 */
export const startInterval = (
  intervalMs: number,
  task: () => Promise<unknown>,
  onError: (error: Error) => void,
): (() => void) => {
  let timer: NodeJS.Timeout;
  let cancelled = false;
  const scheduleNext = (): void => {
    if (cancelled) return;
    timer = setTimeout(run, alignPause(intervalMs, performance.now()));
    timer.unref();
  };
  const run = (): void => {
    task().then(scheduleNext, (error: unknown) => {
      onError(toError(error));
      scheduleNext();
    });
  };
  scheduleNext();
  return () => {
    cancelled = true;
    clearTimeout(timer);
  };
};

/** Resolves like `work`; rejects after so many milliseconds without stopping it. */
export const endWithin = async <Result>(work: PromiseLike<Result>, milliseconds: number): Promise<Result> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Repeats a task at an interval: one run at a time, the next run only after the last one has ended.
 *
 * A failed run is reported, and the next run follows as usual. The timer does not keep the process alive.
 */
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
      onError(error instanceof Error ? error : new Error(String(error)));
      scheduleNext();
    });
  };
  scheduleNext();
  return () => {
    cancelled = true;
    clearTimeout(timer);
  };
};

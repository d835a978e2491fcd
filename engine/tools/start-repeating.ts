/**
 * Repeats a short task on a clock.
 */
import type { Clock } from '../ports.ts';

/** Calls `task` every `intervalMs` from then on. Returns a function that cancels. */
export const startRepeating = (
  clock: Pick<Clock, 'after'>,
  intervalMs: number,
  task: () => void,
): (() => void) => {
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = clock.after(intervalMs, () => {
      wait();
      task();
    });
  };
  wait();
  return () => cancel();
};

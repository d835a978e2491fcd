/**
 * Statements of one kind take turns, so that many of them leave room for all others.
 *
 * First come, first served. Who waits is an open request of its own, so their number is bounded by that of
 * connections. Used for lists that are read as a whole, step by step.
 */

/** Runs `work` when it has its turn; settles as `work` does, and then the next one begins. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

/** At most `atOnceMax` at a time. */
export const createSemaphore = (atOnceMax: number): Semaphore => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < atOnceMax) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};

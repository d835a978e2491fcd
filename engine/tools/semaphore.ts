/**
 * A semaphore: limits how much work of one kind runs at once, so that it leaves room for others.
 *
 * First come, first served. Every waiter is an open request, so the number of connections bounds the queue.
 * Used for lists that are read completely, step by step, and for histories.
 */

/** Runs `work` when a slot is free; settles as `work` does. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

/** Creates a semaphore with `atOnceMax` slots. */
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

/**
 * The real clock: the only place where the product reads time and makes timers for the engine.
 *
 * `endOfTick` is `setImmediate`: it runs after all sockets ready in this turn of the event loop were read, so
 * one batch holds everything that arrived together. Timers do not keep the process alive.
 */
import type { Clock } from '../engine/ports.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  endOfTick: (task) => {
    setImmediate(task);
  },
};

/**
 * The real clock. The engine gets all its times and timers from here; tests give it another clock.
 *
 * `endOfTick` is `setImmediate`: it runs after the event loop has read all sockets that are ready, so one
 * batch holds everything that arrived together. Timers do not keep the process alive.
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

/**
 * The facade's own deadline for every request that waits: uWebSockets.js waits for us for ever once a
 * request is read. One sweep looks at the oldest waiters; there is no timer per request.
 *
 * Three queues, each in order of entry with one constant time limit, so only their heads need a look:
 * `reading` (the body is still coming), `working` (a store is being waited for) and `asking` (so is a service
 * of the outside). A waiter is in at most one of them.
 */
import type { Clock } from '../engine/ports.ts';

export interface Waiter {
  /** Monotonic ms at which the current wait began; set by the queue. */
  waitingSinceMs: number;
  /** The queue it is in, if any; set by the queue. */
  waitsIn: Set<Waiter> | null;
  /** The wait was too long. Must answer, and must not throw. */
  expired(while_: 'reading' | 'working'): void;
}

export interface DeadlineTimes {
  readonly readingMs: number;
  readonly workingMs: number;
  readonly askingMs: number;
  readonly sweepMs: number;
}

export interface Deadlines {
  read(waiter: Waiter): void;
  work(waiter: Waiter): void;
  /** As `work`, for requests that also wait for a service of the outside. */
  ask(waiter: Waiter): void;
  /** Takes a waiter out; harmless when it is in no queue. */
  done(waiter: Waiter): void;
  /** Requests that wait now. */
  waiting(): number;
  close(): void;
}

const expireHeads = (queue: Set<Waiter>, beforeMs: number, what: 'reading' | 'working'): void => {
  for (const waiter of queue) {
    if (waiter.waitingSinceMs > beforeMs) return;
    queue.delete(waiter);
    waiter.waitsIn = null;
    waiter.expired(what);
  }
};

/** Starts the sweep; `close` ends it. */
export const createDeadlines = (clock: Clock, times: DeadlineTimes): Deadlines => {
  const reading = new Set<Waiter>();
  const working = new Set<Waiter>();
  const asking = new Set<Waiter>();
  let cancel = (): void => {};
  const sweep = (): void => {
    const nowMs = clock.monotonicMs();
    expireHeads(reading, nowMs - times.readingMs, 'reading');
    expireHeads(working, nowMs - times.workingMs, 'working');
    expireHeads(asking, nowMs - times.askingMs, 'working');
    cancel = clock.after(times.sweepMs, sweep);
  };
  cancel = clock.after(times.sweepMs, sweep);
  const enter = (queue: Set<Waiter>, waiter: Waiter): void => {
    waiter.waitsIn?.delete(waiter);
    waiter.waitsIn = queue;
    waiter.waitingSinceMs = clock.monotonicMs();
    queue.add(waiter);
  };
  return {
    read: (waiter) => enter(reading, waiter),
    work: (waiter) => enter(working, waiter),
    ask: (waiter) => enter(asking, waiter),
    done: (waiter) => {
      waiter.waitsIn?.delete(waiter);
      waiter.waitsIn = null;
    },
    waiting: () => reading.size + working.size + asking.size,
    close: () => cancel(),
  };
};

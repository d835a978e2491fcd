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
  /** The queue it is in, if any, and its neighbours there; set by the queue. */
  waitsIn: WaitQueue | null;
  earlier: Waiter | null;
  later: Waiter | null;
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

/** Waiters in order of entry, linked through themselves: a set would cost every request a place in it. */
export interface WaitQueue {
  first: Waiter | null;
  last: Waiter | null;
  size: number;
}

const append = (queue: WaitQueue, waiter: Waiter): void => {
  waiter.waitsIn = queue;
  waiter.earlier = queue.last;
  if (queue.last === null) queue.first = waiter;
  else queue.last.later = waiter;
  queue.last = waiter;
  queue.size++;
};

/** Takes it out of its queue, if it is in one. Keeps no link: the dead must not keep others alive. */
const remove = (waiter: Waiter): void => {
  const { waitsIn: queue, earlier, later } = waiter;
  if (queue === null) return;
  if (earlier === null) queue.first = later;
  else earlier.later = later;
  if (later === null) queue.last = earlier;
  else later.earlier = earlier;
  waiter.waitsIn = null;
  waiter.earlier = null;
  waiter.later = null;
  queue.size--;
};

const expireHeads = (queue: WaitQueue, beforeMs: number, what: 'reading' | 'working'): void => {
  let { first } = queue;
  while (first !== null && first.waitingSinceMs <= beforeMs) {
    remove(first);
    first.expired(what);
    first = queue.first;
  }
};

const newQueue = (): WaitQueue => ({ first: null, last: null, size: 0 });

/** Starts the sweep; `close` ends it. */
export const createDeadlines = (clock: Clock, times: DeadlineTimes): Deadlines => {
  const reading = newQueue();
  const working = newQueue();
  const asking = newQueue();
  let cancel = (): void => {};
  const sweep = (): void => {
    const nowMs = clock.monotonicMs();
    expireHeads(reading, nowMs - times.readingMs, 'reading');
    expireHeads(working, nowMs - times.workingMs, 'working');
    expireHeads(asking, nowMs - times.askingMs, 'working');
    cancel = clock.after(times.sweepMs, sweep);
  };
  cancel = clock.after(times.sweepMs, sweep);
  const enter = (queue: WaitQueue, waiter: Waiter): void => {
    remove(waiter);
    waiter.waitingSinceMs = clock.monotonicMs();
    append(queue, waiter);
  };
  return {
    read: (waiter) => enter(reading, waiter),
    work: (waiter) => enter(working, waiter),
    ask: (waiter) => enter(asking, waiter),
    done: remove,
    waiting: () => reading.size + working.size + asking.size,
    close: () => cancel(),
  };
};

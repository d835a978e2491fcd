/**
 * The facade's own deadline for every request that waits: uWebSockets.js waits for us for ever once a
 * request is read. One sweep looks at the oldest waiters; there is no timer per request.
 *
 * Three queues, each in order of entry with one constant time limit, so only their heads need a look:
 * `reading` (the body is still coming), `working` (a store is being waited for) and `asking` (so is a service
 * of the outside). A waiter is in at most one of them.
 */
import type { Clock } from '../../engine/ports.ts';

export interface DeadlineWaiter {
  /** Monotonic ms at which the current wait began; set by the queue. */
  waitingSinceMs: number;
  /** The queue it is in, if any, and its neighbours there; set by the queue. */
  queue: WaitQueue | null;
  previous: DeadlineWaiter | null;
  next: DeadlineWaiter | null;
  /** The wait was too long. Must answer, and must not throw. */
  onExpired(while_: 'reading' | 'working'): void;
}

export interface DeadlineTimes {
  readonly readingMs: number;
  readonly workingMs: number;
  readonly outboundMs: number;
  readonly sweepMs: number;
}

export interface Deadlines {
  startReading(waiter: DeadlineWaiter): void;
  startWorking(waiter: DeadlineWaiter): void;
  /** As `startWorking`, for requests that also wait for a service of the outside. */
  startOutbound(waiter: DeadlineWaiter): void;
  /** Takes a waiter out; harmless when it is in no queue. */
  finish(waiter: DeadlineWaiter): void;
  /** Requests that wait now. */
  countWaiting(): number;
  close(): void;
}

/** Waiters in order of entry, linked through themselves: a set would cost every request a place in it. */
export interface WaitQueue {
  first: DeadlineWaiter | null;
  last: DeadlineWaiter | null;
  size: number;
}

const append = (queue: WaitQueue, waiter: DeadlineWaiter): void => {
  waiter.queue = queue;
  waiter.previous = queue.last;
  if (queue.last === null) queue.first = waiter;
  else queue.last.next = waiter;
  queue.last = waiter;
  queue.size++;
};

/** Takes it out of its queue, if it is in one. Keeps no link: the dead must not keep others alive. */
const remove = (waiter: DeadlineWaiter): void => {
  const { queue, previous, next } = waiter;
  if (queue === null) return;
  if (previous === null) queue.first = next;
  else previous.next = next;
  if (next === null) queue.last = previous;
  else next.previous = previous;
  waiter.queue = null;
  waiter.previous = null;
  waiter.next = null;
  queue.size--;
};

const expireHeads = (queue: WaitQueue, beforeMs: number, what: 'reading' | 'working'): void => {
  let { first } = queue;
  while (first !== null && first.waitingSinceMs <= beforeMs) {
    remove(first);
    first.onExpired(what);
    first = queue.first;
  }
};

const createWaitQueue = (): WaitQueue => ({ first: null, last: null, size: 0 });

/** Starts the sweep; `close` ends it. */
export const createDeadlines = (clock: Clock, times: DeadlineTimes): Deadlines => {
  const reading = createWaitQueue();
  const working = createWaitQueue();
  const asking = createWaitQueue();
  let cancel = (): void => {};
  const sweep = (): void => {
    const nowMs = clock.monotonicMs();
    expireHeads(reading, nowMs - times.readingMs, 'reading');
    expireHeads(working, nowMs - times.workingMs, 'working');
    expireHeads(asking, nowMs - times.outboundMs, 'working');
    cancel = clock.after(times.sweepMs, sweep);
  };
  cancel = clock.after(times.sweepMs, sweep);
  const enter = (queue: WaitQueue, waiter: DeadlineWaiter): void => {
    remove(waiter);
    waiter.waitingSinceMs = clock.monotonicMs();
    append(queue, waiter);
  };
  return {
    startReading: (waiter) => enter(reading, waiter),
    startWorking: (waiter) => enter(working, waiter),
    startOutbound: (waiter) => enter(asking, waiter),
    finish: remove,
    countWaiting: () => reading.size + working.size + asking.size,
    close: () => cancel(),
  };
};

/**
 * Deadlines for every request that waits, because uWebSockets.js has no timeout once a request is read. One
 * sweep checks the oldest waiters, and runs again while anything waits; there is no timer per request.
 *
 * There are five queues in order of entry, each with one constant time limit, so the sweep checks only their
 * heads: `reading` (the body is still arriving), then `late` (it has been for long), `working` (waiting for
 * a store), `outbound` (waiting for an external service) and `listening` (waiting for something to happen).
 * A waiter is in at most one of them.
 */
import type { Clock } from '../../engine/ports.ts';

export interface DeadlineWaiter {
  /** Monotonic ms at which the current wait began; set by `Deadlines`. */
  waitingSinceMs: number;
  /** The queue it is in, if any, and its neighbours there; set by `Deadlines`. */
  queue: WaitQueue | null;
  previous: DeadlineWaiter | null;
  next: DeadlineWaiter | null;
  /** Its body is still arriving after `lateShare` of the time. Must not throw. */
  onLate(): void;
  /** The deadline has passed. Must answer the request and must not throw. */
  onExpired(during: 'reading' | 'working'): void;
}

export interface DeadlineTimes {
  readonly readingMs: number;
  readonly workingMs: number;
  readonly outboundMs: number;
  readonly listeningMs: number;
  readonly sweepMs: number;
}

/**
 * 2.5 of 10 s. uWebSockets.js closes a connection whose body is slow 8 to 12 s after its head, or after
 * `onLate`: so `onLate` comes in time even after two waits of `workingMs`, and lasts to the deadline.
 */
const lateShare = 0.25;

/** An intrusive doubly linked list in order of entry: a `Set` would allocate an entry per request. */
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

/** Removes it from its queue, if any. Clears its links, so that it keeps no other waiter reachable. */
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

const expireHeads = (queue: WaitQueue, beforeMs: number, during: 'reading' | 'working'): void => {
  let { first } = queue;
  while (first !== null && first.waitingSinceMs <= beforeMs) {
    remove(first);
    first.onExpired(during);
    first = queue.first;
  }
};

/** Moves those that wait since before `beforeMs`. They keep their time of entry, and so their order. */
const moveHeads = (from: WaitQueue, to: WaitQueue, beforeMs: number): void => {
  let { first } = from;
  while (first !== null && first.waitingSinceMs <= beforeMs) {
    remove(first);
    append(to, first);
    first.onLate();
    first = from.first;
  }
};

const createWaitQueue = (): WaitQueue => ({ first: null, last: null, size: 0 });

/** Sweeps while anything waits, until `close`. */
export const createDeadlines = (clock: Clock, times: DeadlineTimes) => {
  const reading = createWaitQueue();
  const late = createWaitQueue();
  const working = createWaitQueue();
  const outbound = createWaitQueue();
  const listening = createWaitQueue();
  let sweeping = false;
  let closed = false;
  let cancel = (): void => {};
  const queues = [reading, late, working, outbound, listening];
  const countWaiting = (): number => queues.reduce((sum, { size }) => sum + size, 0);
  const scheduleSweep = (): void => {
    sweeping = !closed && countWaiting() > 0;
    if (sweeping) cancel = clock.after(times.sweepMs, sweep);
  };
  const sweep = (): void => {
    const nowMs = clock.monotonicMs();
    moveHeads(reading, late, nowMs - lateShare * times.readingMs);
    expireHeads(late, nowMs - times.readingMs, 'reading');
    expireHeads(working, nowMs - times.workingMs, 'working');
    expireHeads(outbound, nowMs - times.outboundMs, 'working');
    expireHeads(listening, nowMs - times.listeningMs, 'working');
    scheduleSweep();
  };
  const enter = (queue: WaitQueue, waiter: DeadlineWaiter): void => {
    remove(waiter);
    waiter.waitingSinceMs = clock.monotonicMs();
    append(queue, waiter);
    if (!sweeping) scheduleSweep();
  };
  return {
    startReading: (waiter: DeadlineWaiter) => enter(reading, waiter),
    startWorking: (waiter: DeadlineWaiter) => enter(working, waiter),
    /** Like `startWorking`, for requests that also wait for an external service. */
    startOutbound: (waiter: DeadlineWaiter) => enter(outbound, waiter),
    /** Like `startWorking`, for requests that wait for something to happen. */
    startListening: (waiter: DeadlineWaiter) => enter(listening, waiter),
    /** Removes a waiter from its queue; does nothing when it is in none. */
    finish: remove,
    /** How many requests wait now. */
    countWaiting,
    close: () => {
      closed = true;
      cancel();
    },
  };
};
export type Deadlines = ReturnType<typeof createDeadlines>;

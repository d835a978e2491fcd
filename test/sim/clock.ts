/**
 * Virtual time: one seeded driver for all nodes, stores and clients of a simulation, and their clocks.
 *
 * Everything that happens is an event with a virtual time; events of the same millisecond run in an order
 * drawn from the seed. After every event the driver lets all promises settle before it takes the next, so one
 * seed has one history. It never looks at real time. Main invariant: same seed, same trace hash.
 */
import { createHash } from 'node:crypto';
import { createRandom, type Random } from '../../bench/shared/random.ts';
import type { Clock } from '../../engine/ports.ts';

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly task: () => void;
  cancelled: boolean;
}

export interface Driver {
  /** All draws of a simulation come from here, in one order. */
  readonly random: Random;
  /** Virtual ms since the simulation began. */
  nowMs(): number;
  /** Runs `task` once after `delayMs` of virtual time; returns a cancel function. */
  after(delayMs: number, task: () => void): () => void;
  /** Resolves after `delayMs` of virtual time. */
  pause(delayMs: number): Promise<void>;
  /** Adds one line to the trace, stamped with the time. */
  note(line: string): void;
  /** Runs events until none is left or `done` is true. Throws after `eventsMax` events. */
  run(done: () => boolean, eventsMax: number): Promise<void>;
  /** Digest of all notes so far. */
  hash(): string;
  events(): number;
}

/** The order of two events: by time, then by the number drawn from the seed. */
const before = (left: Event, right: Event): boolean =>
  left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);

const pushEvent = (heap: Event[], event: Event): void => {
  let index = heap.length;
  heap.push(event);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!before(event, heap[parent] as Event)) break;
    heap[index] = heap[parent] as Event;
    index = parent;
  }
  heap[index] = event;
};

const popEvent = (heap: Event[]): Event | undefined => {
  const top = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return top;
  let index = 0;
  for (;;) {
    let child = index * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as Event, heap[child] as Event)) child += 1;
    if (!before(heap[child] as Event, last)) break;
    heap[index] = heap[child] as Event;
    index = child;
  }
  heap[index] = last;
  return top;
};

/** Lets every promise that can settle now do so. */
const runPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const createDriver = (seed: number, print?: (line: string) => void): Driver => {
  const random = createRandom(seed);
  // Orders come from a stream of their own: a note or a check more must not change what the seed means.
  const orders = createRandom(seed ^ 0x5bd1e995);
  const heap: Event[] = [];
  const digest = createHash('sha256');
  let nowMs = 0;
  let events = 0;
  const after = (delayMs: number, task: () => void): (() => void) => {
    const event = {
      atMs: nowMs + Math.max(0, Math.round(delayMs)),
      order: orders.next(),
      task,
      cancelled: false,
    };
    pushEvent(heap, event);
    return () => {
      event.cancelled = true;
    };
  };
  return {
    random,
    nowMs: () => nowMs,
    after,
    pause: (delayMs) => new Promise((resolve) => after(delayMs, resolve)),
    note: (line) => {
      const stamped = `${String(nowMs).padStart(6)} ${line}`;
      digest.update(`${stamped}\n`);
      print?.(stamped);
    },
    run: async (done, eventsMax) => {
      await runPromises();
      for (let left = eventsMax; !done(); left--) {
        const event = popEvent(heap);
        if (event === undefined) return;
        if (event.cancelled) continue;
        if (left <= 0) throw new Error(`the simulation does not rest within ${eventsMax} events`);
        nowMs = event.atMs;
        events += 1;
        event.task();
        await runPromises();
      }
    },
    hash: () => digest.copy().digest('hex').slice(0, 16),
    events: () => events,
  };
};

/** One node's clock: its wall clock may jump, its timers die with it. */
export interface NodeClock extends Clock {
  /** Moves the wall clock; the monotonic one never jumps. */
  jump(byMs: number): void;
  /** Stops the node's timers for ever. */
  kill(): void;
  dead(): boolean;
}

export const createNodeClock = (driver: Driver, epochMs: number): NodeClock => {
  let offsetMs = epochMs;
  let dead = false;
  const startedMs = driver.nowMs();
  const after = (delayMs: number, task: () => void): (() => void) =>
    driver.after(delayMs, () => {
      if (!dead) task();
    });
  return {
    nowMs: () => driver.nowMs() + offsetMs,
    monotonicMs: () => driver.nowMs() - startedMs,
    after,
    endOfTick: (task) => {
      after(0, task);
    },
    jump: (byMs) => {
      offsetMs += byMs;
    },
    kill: () => {
      dead = true;
    },
    dead: () => dead,
  };
};

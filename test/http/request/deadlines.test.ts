/**
 * The deadline queues: a request that waits too long expires once, a finished one never, in any order of
 * entering and leaving.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Clock } from '../../../engine/ports.ts';
import { createDeadlines, type DeadlineWaiter } from '../../../http/request/deadlines.ts';

const test = suite('deadlines');
const times = { readingMs: 30, workingMs: 20, outboundMs: 50, listeningMs: 90, sweepMs: 1 };
type Queue = 'startReading' | 'startWorking' | 'startOutbound';
const limitsMs: Readonly<Record<Queue, number>> = { startReading: 30, startWorking: 20, startOutbound: 50 };

/** A manual clock; each step of a millisecond runs the timers that are due. */
const steppedClock = () => {
  let nowMs = 0;
  let due: (() => void) | null = null;
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after: (_delayMs, task) => {
      due = task;
      return () => {
        due = null;
      };
    },
    endOfTick: (task) => task(),
  };
  const step = (): void => {
    nowMs += 1;
    const task = due;
    due = null;
    task?.();
  };
  return { clock, step, hasTimer: () => due !== null };
};

const newWaiter = (expired: string[], name: string): DeadlineWaiter => ({
  waitingSinceMs: 0,
  queue: null,
  previous: null,
  next: null,
  onLate: () => {},
  onExpired: (during) => void expired.push(`${name} ${during}`),
});

const moves = fc.array(
  fc.record({
    who: fc.nat({ max: 5 }),
    what: fc.constantFrom<Queue | 'finish'>('startReading', 'startWorking', 'startOutbound', 'finish'),
    thenSteps: fc.nat({ max: 15 }),
  }),
  { maxLength: 60 },
);

test('each waiter expires once at its own deadline, and none that finished or changed queues', () => {
  fc.assert(
    fc.property(moves, (all) => {
      const { clock, step } = steppedClock();
      const deadlines = createDeadlines(clock, times);
      const expired: string[] = [];
      const expected: string[] = [];
      const waiters = Array.from({ length: 6 }, (_, index) => newWaiter(expired, String(index)));
      const waits = new Map<number, { readonly queue: Queue; readonly sinceMs: number }>();
      for (const { who, what, thenSteps } of all) {
        const waiter = waiters[who] as DeadlineWaiter;
        deadlines[what](waiter);
        waits.delete(who);
        if (what !== 'finish') waits.set(who, { queue: what, sinceMs: clock.monotonicMs() });
        for (let count = 0; count < thenSteps; count++) {
          step();
          for (const [index, { queue, sinceMs }] of waits) {
            if (clock.monotonicMs() - sinceMs < limitsMs[queue]) continue;
            expected.push(`${index} ${queue === 'startReading' ? 'reading' : 'working'}`);
            waits.delete(index);
          }
        }
        assert.is(deadlines.countWaiting(), waits.size);
        assert.equal([...expired].sort(), [...expected].sort());
      }
      for (const [index, { queue: waitsIn, previous, next }] of waiters.entries()) {
        if (!waits.has(index)) assert.ok(waitsIn === null && previous === null && next === null);
      }
      deadlines.close();
    }),
    { numRuns: 300 },
  );
});

test('of a body that is still arriving after a quarter of the time it is said once', () => {
  const { clock, step } = steppedClock();
  const deadlines = createDeadlines(clock, times);
  const events: string[] = [];
  const add = (name: string): DeadlineWaiter => ({
    ...newWaiter([], name),
    onLate: () => void events.push(`${clock.monotonicMs()}: ${name} is late`),
    onExpired: (during) => void events.push(`${clock.monotonicMs()}: ${name} ${during}`),
  });
  const [slow, quick, worker] = [add('slow'), add('quick'), add('worker')];
  deadlines.startReading(slow);
  deadlines.startReading(quick);
  deadlines.startOutbound(worker);
  for (let count = 0; count < 60; count++) {
    step();
    if (count === 5) deadlines.finish(quick);
  }
  assert.equal(events, ['8: slow is late', '30: slow reading', '50: worker working']);
});

test('no timer runs while nothing waits', () => {
  const { clock, step, hasTimer } = steppedClock();
  const deadlines = createDeadlines(clock, times);
  assert.not(hasTimer(), 'at first');
  const waiter = newWaiter([], 'one');
  deadlines.startWorking(waiter);
  assert.ok(hasTimer());
  deadlines.finish(waiter);
  step();
  assert.not(hasTimer(), 'after the last one has finished');
  deadlines.startReading(waiter);
  assert.ok(hasTimer());
  deadlines.close();
});

test.run();

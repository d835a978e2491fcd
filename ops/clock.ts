/**
 * The real clock. The engine gets all its times and timers from here; tests give it another clock.
 *
 * `endOfTick` is `setImmediate`: it runs after the event loop has read all sockets that are ready, so one
 * batch holds everything that arrived together. Timers do not keep the process alive.
 *
 * The ids of votes come from here, too: UUID version 7, which begins with the time, so that their index in
 * SQL stays dense.
 */

import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
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

const bytesPerId = 16;
const idsPerDraw = 256;

/**
 * Returns a function that creates ids. Random bytes are drawn for many at once, since a system call for 16
 * bytes costs more than the rest of a vote. No random byte is used twice, also not by another such
 * function.
 */
export const createVoteIds = (): (() => string) => {
  const randomBytes = new Uint8Array(bytesPerId * idsPerDraw);
  let offset = randomBytes.length;
  return () => {
    if (offset === randomBytes.length) {
      randomFillSync(randomBytes);
      offset = 0;
    }
    const random = randomBytes.subarray(offset, offset + bytesPerId);
    offset += bytesPerId;
    return v7({ random });
  };
};

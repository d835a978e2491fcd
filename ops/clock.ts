/**
 * The real clock. The engine gets all its times and timers from here; tests give it another clock.
 *
 * `endOfTick` is `setImmediate`: it runs after the event loop has read all sockets that are ready, so one
 * batch holds everything that arrived together. Timers do not keep the process alive.
 */
import { mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** No right clock is before this version of the program. */
const clockFirstMs = Date.UTC(2026, 0, 1);

/**
 * Reads the clock of the system: the time that it gives a new folder. Libraries that give a process another
 * time do not reach it.
 */
export const readSystemMs = (): number => {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-clock-'));
    const { mtimeMs } = statSync(folder);
    rmdirSync(folder);
    return Math.floor(mtimeMs);
  } catch {
    return Date.now();
  }
};

export const formatMs = (ms: number): string => new Date(ms).toISOString();
export const describeClock = (nowMs: number): string => `The clock of this machine says ${formatMs(nowMs)}`;
export const clockAdvice = 'Set it (with NTP: timedatectl set-ntp true) and start again.';

/** Throws, for the operator, if the clock was never set. */
export const assertClockSet = (nowMs: number): void => {
  if (nowMs < clockFirstMs) throw new Error(`${describeClock(nowMs)}: it was never set. ${clockAdvice}`);
};

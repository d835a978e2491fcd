/**
 * A log for failed requests that an outage cannot flood: so many lines a second, and then how many were left
 * out.
 *
 * While a store is away every request that needs it fails the same way, thousands of times a second. The
 * number left out is told with the next line that is written. Wired by the composition root.
 */
import type { Logger } from 'pino';
import type { Clock } from '../engine/ports.ts';

type Lines = Pick<Logger, 'error' | 'info'>;

export const failuresPerSecondMax = 20;

interface Second {
  startedMs: number;
  written: number;
  leftOut: number;
}

/** Passes at most `failuresPerSecondMax` errors a second on to `logger`; everything else always. */
export const createSparingLog = (logger: Lines, clock: Pick<Clock, 'monotonicMs'>): Lines => {
  const second: Second = { startedMs: clock.monotonicMs(), written: 0, leftOut: 0 };
  const error = (fields: object, words: string): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - second.startedMs >= 1_000) {
      second.startedMs = nowMs;
      second.written = 0;
    }
    if (second.written >= failuresPerSecondMax) {
      second.leftOut++;
      return;
    }
    second.written++;
    logger.error(second.leftOut === 0 ? fields : { ...fields, left_out: second.leftOut }, words);
    second.leftOut = 0;
  };
  return { error: error as Lines['error'], info: logger.info.bind(logger) };
};

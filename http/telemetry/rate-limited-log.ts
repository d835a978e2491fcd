/**
 * A log for failed requests that an outage cannot flood: so many lines a second, and then how many were left
 * out.
 *
 * While a store is away every request that needs it fails the same way, thousands of times a second. The
 * number left out is told with the next line that is written. Wired by the composition root.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../engine/ports.ts';

type LogMethods = Pick<Logger, 'error' | 'info'>;

export const failuresPerSecondMax = 20;

interface LogWindow {
  startedMs: number;
  written: number;
  suppressed: number;
}

/** Passes at most `failuresPerSecondMax` errors a second on to `logger`; everything else always. */
export const createRateLimitedLog = (logger: LogMethods, clock: Pick<Clock, 'monotonicMs'>): LogMethods => {
  const second: LogWindow = { startedMs: clock.monotonicMs(), written: 0, suppressed: 0 };
  const error = (fields: object, words: string): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - second.startedMs >= 1_000) {
      second.startedMs = nowMs;
      second.written = 0;
    }
    if (second.written >= failuresPerSecondMax) {
      second.suppressed++;
      return;
    }
    second.written++;
    logger.error(second.suppressed === 0 ? fields : { ...fields, suppressed: second.suppressed }, words);
    second.suppressed = 0;
  };
  return { error: error as LogMethods['error'], info: logger.info.bind(logger) };
};

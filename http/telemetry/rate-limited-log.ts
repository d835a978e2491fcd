/**
 * A logger for failed requests with a rate limit, so that an outage cannot flood the log.
 *
 * While a store is unreachable, every request that needs it fails the same way, thousands of times a second.
 * The next line that is written reports the number of suppressed ones. Created by the composition root.
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

/** Passes at most `failuresPerSecondMax` errors per second to `logger`, and all `info` lines. */
export const createRateLimitedLog = (logger: LogMethods, clock: Pick<Clock, 'monotonicMs'>): LogMethods => {
  const window: LogWindow = { startedMs: clock.monotonicMs(), written: 0, suppressed: 0 };
  const error = (fields: object, message: string): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - window.startedMs >= 1_000) {
      window.startedMs = nowMs;
      window.written = 0;
    }
    if (window.written >= failuresPerSecondMax) {
      window.suppressed++;
      return;
    }
    window.written++;
    logger.error(window.suppressed === 0 ? fields : { ...fields, suppressed: window.suppressed }, message);
    window.suppressed = 0;
  };
  return { error: error as LogMethods['error'], info: logger.info.bind(logger) };
};

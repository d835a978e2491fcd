/**
 * A logger for failed and slow requests with a rate limit, so that an outage cannot flood the log.
 *
 * While a store is unreachable, every request that needs it fails the same way, thousands of times a second.
 * The next line that is written reports the number of suppressed ones.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../engine/ports.ts';

export type RequestLogger = Pick<Logger, 'error' | 'warn' | 'debug' | 'isLevelEnabled'>;

export const failuresPerSecondMax = 20;

interface LogWindow {
  startedMs: number;
  written: number;
  suppressed: number;
}

/** Passes at most `failuresPerSecondMax` errors and warnings per second to `logger`, and all other lines. */
export const createRateLimitedLog = (
  logger: RequestLogger,
  clock: Pick<Clock, 'monotonicMs'>,
): RequestLogger => {
  const window: LogWindow = { startedMs: clock.monotonicMs(), written: 0, suppressed: 0 };
  const limit =
    (level: 'error' | 'warn') =>
    (fields: object, message: string): void => {
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
      logger[level](window.suppressed === 0 ? fields : { ...fields, suppressed: window.suppressed }, message);
      window.suppressed = 0;
    };
  return {
    error: limit('error') as RequestLogger['error'],
    warn: limit('warn') as RequestLogger['warn'],
    debug: logger.debug.bind(logger),
    isLevelEnabled: logger.isLevelEnabled.bind(logger),
  };
};

/**
 * A logger of requests that writes nothing.
 */
import type { RequestLogger } from '../../http/telemetry/rate-limited-log.ts';

export const silentLogger: RequestLogger = {
  error: () => {},
  warn: () => {},
  debug: () => {},
  isLevelEnabled: () => false,
};

/**
 * Turns the operator's numbers into the facade's rate limits (docs/behaviour.md, "Rate limits"). Pure.
 */
import type { LimitSettings } from '../http/limits/limiter.ts';
import type { Config } from './config.ts';

const limitPerMinute = (requests: number) => ({ requests, seconds: 60, burst: requests });

/** All limits of the public listener. */
export const toLimitSettings = (config: Config): LimitSettings => ({
  login: limitPerMinute(config.loginsPerMinute),
  bot_create: limitPerMinute(config.botCreationsPerMinute),
  bot_meta: limitPerMinute(config.botMetaPerMinute),
  auth_test: limitPerMinute(config.authTestsPerMinute),
  stats: { requests: config.statsPostsPerSecond, seconds: 1, burst: config.statsPostsBurst },
});

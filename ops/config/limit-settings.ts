/**
 * Turns the operator's settings into the rate limits of the public listener (docs/behaviour.md, "Rate
 * limits"). Pure.
 */
import { defaultLimits, type LimitSettings } from '../../http/limits/limiter.ts';
import type { Config } from './config.ts';

const limitPerMinute = (requests: number) => ({ requests, seconds: 60, burst: requests });

/** All rate limits of the public listener; `stats` is per token, the others are per client address. */
export const toLimitSettings = (config: Config): LimitSettings => ({
  ...defaultLimits,
  login: limitPerMinute(config.loginsPerMinute),
  bot_create: limitPerMinute(config.botCreationsPerMinute),
  bot_meta: limitPerMinute(config.botMetaPerMinute),
  auth_test: limitPerMinute(config.authTestsPerMinute),
  stats: { requests: config.statsPostsPerSecond, seconds: 1, burst: config.statsPostsBurst },
});

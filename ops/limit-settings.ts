/**
 * Turns the operator's numbers into the facade's rate limits (docs/behaviour.md, "Rate limits"). Pure.
 */
import type { LimitSettings } from '../http/limits/limiter.ts';
import type { Config } from './config.ts';

const perMinute = (requests: number) => ({ requests, seconds: 60, burst: requests });

/** All limits of the public listener. */
export const limitSettingsOf = (config: Config): LimitSettings => ({
  login: perMinute(config.loginsPerMinute),
  bot_create: perMinute(config.botCreationsPerMinute),
  bot_meta: perMinute(config.botMetaPerMinute),
  auth_test: perMinute(config.authTestsPerMinute),
  stats: { requests: config.statsPostsPerSecond, seconds: 1, burst: config.statsPostsBurst },
});

/**
 * Rate limits over all nodes: the generic cell rate algorithm (GCRA), one number per key, decided in Redis.
 *
 * The clock of Redis decides, and keys expire by themselves, so no sweep is needed. If a stored number is
 * further in the future than the algorithm allows, that clock was set back since; it then counts as a burst
 * that is used up. The arithmetic equals that of `http/limits/limiter.ts`; a test compares the two. Rejects
 * with a `StorageError` when Redis is away or slow; the HTTP side then limits per node. Called for rare and
 * expensive operations only, never on the hot path. Keys may be addresses of clients: Redis gets hashes.
 */
import type { RedisCommands } from './commands.ts';

export interface RatePolicy {
  readonly name: string;
  /** Requests allowed at once. */
  readonly burst: number;
  /** One further request is allowed after each interval, ms. */
  readonly intervalMs: number;
}

/** Computes in whole microseconds, because Redis truncates fractions in answers. */
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local tolerance = tonumber(ARGV[2])
local booked = tonumber(redis.call('GET', KEYS[1]) or '0')
if booked > now + tolerance then
  booked = now + tolerance
end
local start = math.max(booked, now)
if start + interval - now > tolerance then
  return {0, start - now}
end
local nextFree = start + interval
redis.call('SET', KEYS[1], string.format('%.0f', nextFree), 'PX', math.ceil((nextFree - now) / 1000))
return {1, nextFree - now}`;

/** Hashes a key by a secret of the directory, so that it means the same to all nodes. */
export type KeyHasher = (key: string) => string;

/** Creates the shared rate limits on a command connection. */
export const createRates = (commands: RedisCommands, hashKey: KeyHasher) => ({
  /**
   * Counts one request of `key` if it is allowed. `aheadMs` says how far ahead of now the key is booked after
   * it, at most `burst × intervalMs`. Rejects with a `StorageError`.
   */
  take: async (policy: RatePolicy, key: string) => {
    const interval = Math.round(policy.intervalMs * 1_000);
    const name = `rollcall:rate:${policy.name}:${hashKey(key)}`;
    const args = [takeScript, 1, name, interval, interval * policy.burst];
    const [allowed = 0, ahead = 0] = (await commands.send('EVAL', args)) as number[];
    return { allowed: allowed === 1, aheadMs: ahead / 1_000 };
  },
});

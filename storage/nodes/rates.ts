/**
 * Rate limits that hold over all nodes: the generic cell rate algorithm, one number per key, decided in
 * Redis.
 *
 * Redis' clock decides and keys expire by themselves, so nothing is swept. A booking further ahead than any
 * can be was made before that clock was set back, and counts as a full one. The arithmetic is that of
 * `http/limits/gcra.ts`, and a test holds the two together. Rejects with a `StorageError` when Redis is
 * away or slow; the facade then counts by itself. Called for the rare and dear operations only, never on
 * the hot path.
 */
import type { RedisCommands } from './commands.ts';

export interface RatePolicy {
  readonly name: string;
  /** Requests that may come at once. */
  readonly burst: number;
  /** One request becomes free every so many ms. */
  readonly intervalMs: number;
}

export interface RateAnswer {
  readonly allowed: boolean;
  /** How far ahead of now the key is booked after this request, ms: at most `burst × intervalMs`. */
  readonly aheadMs: number;
}

export interface Rates {
  /** Counts one request of `key` if it is allowed. */
  take(policy: RatePolicy, key: string): Promise<RateAnswer>;
}

/** Microseconds throughout: whole numbers, since Redis cuts fractions of answers. */
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

export const createRates = (commands: RedisCommands): Rates => ({
  take: async (policy, key) => {
    const interval = Math.round(policy.intervalMs * 1_000);
    const name = `rollcall:rate:${policy.name}:${key}`;
    const words = [takeScript, 1, name, interval, interval * policy.burst];
    const [allowed = 0, ahead = 0] = (await commands.send('EVAL', words)) as number[];
    return { allowed: allowed === 1, aheadMs: ahead / 1_000 };
  },
});

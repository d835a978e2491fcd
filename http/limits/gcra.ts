/**
 * The generic cell rate algorithm (GCRA) of a rate limit: one number per key. Pure; time is passed in.
 *
 * The number is the theoretical arrival time (TAT): the time at which the whole burst is available again. An
 * allowed request advances it by one interval. A request is rejected when that would move the TAT further
 * ahead than the burst allows; a rejected request changes nothing, so early retries are not punished.
 */

export interface LimitPolicy {
  readonly name: string;
  /** Requests that may arrive at once. */
  readonly burst: number;
  /** Ms until one more request becomes available. */
  readonly intervalMs: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** The new TAT to store for the key when allowed. */
  readonly tatMs: number;
  /** Whole requests that may still arrive at once. */
  readonly remaining: number;
  /** Ms until the next request is allowed, 0 when this one is. */
  readonly retryAfterMs: number;
  /** Ms until the whole burst is available again. */
  readonly resetMs: number;
}

/**
 * Decides one request at `nowMs` for a key whose stored theoretical arrival time (TAT) is `lastTatMs`; 0 if
 * none is stored. It counts as `cost` requests.
 */
export const decideRate = (policy: LimitPolicy, lastTatMs: number, nowMs: number, cost = 1): RateDecision => {
  const toleranceMs = policy.burst * policy.intervalMs;
  const startMs = Math.max(lastTatMs, nowMs);
  const nextMs = startMs + policy.intervalMs * cost;
  const allowed = nextMs - nowMs <= toleranceMs + 1e-6;
  const tatMs = allowed ? nextMs : startMs;
  return {
    allowed,
    tatMs,
    remaining: Math.max(0, Math.floor((toleranceMs - (tatMs - nowMs)) / policy.intervalMs + 1e-9)),
    retryAfterMs: allowed ? 0 : nextMs - nowMs - toleranceMs,
    resetMs: tatMs - nowMs,
  };
};

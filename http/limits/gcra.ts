/**
 * The arithmetic of a rate limit: the generic cell rate algorithm, one number per key. Pure; time is passed
 * in.
 *
 * The number is the theoretical arrival time (TAT): the moment at which the whole burst is free again. A
 * request moves it on by one interval; it is refused when that would lead further ahead than the burst
 * allows, and a refused request moves nothing, so retrying early is never punished.
 */

export interface LimitPolicy {
  readonly name: string;
  /** Requests that may come at once. */
  readonly burst: number;
  /** One request becomes free every so many ms. */
  readonly intervalMs: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** Stored for the key when allowed. */
  readonly tatMs: number;
  /** Whole requests left at once. */
  readonly remaining: number;
  /** Until the next request is allowed, 0 when it is. */
  readonly retryAfterMs: number;
  /** Until the whole burst is free again. */
  readonly resetMs: number;
}

/** Decides one request at `nowMs` for a key whose last TAT is given (0 when none). */
export const decideRate = (policy: LimitPolicy, lastTatMs: number, nowMs: number): RateDecision => {
  const toleranceMs = policy.burst * policy.intervalMs;
  const startMs = Math.max(lastTatMs, nowMs);
  const nextMs = startMs + policy.intervalMs;
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

/**
 * Looks things up by key at an external service, with a cache and a circuit breaker.
 *
 * One request per key is in flight at a time, shared by all callers; answers are cached; the number of
 * requests in flight is bounded. States:
 * - *closed*: requests are sent. Opens after some consecutive failures, or at once on status 429;
 * - *open*: no request is sent, every look-up fails at once. Ends when the pause is over;
 * - *half-open*: one request is sent and decides; all other look-ups fail at once.
 * A failure by our own load says nothing about the service, and counts as none: see `isOwnLoad`.
 * Never throws and never retries. Messages are for clients: they name no address.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../engine/ports.ts';
import { createSingleFlight, type SingleFlight } from '../../engine/tools/single-flight.ts';
import type { OutboundOutcome } from '../telemetry/counts.ts';
import type { FetchResult } from './fetch-json.ts';

/**
 * `found`: the value, and when it was read (wall clock). `unknown`: the service knows that there is none.
 * `failed`: by the service, or, if `isBusy`, because we send it too much.
 */
export type LookupResult<Value> =
  | { readonly kind: 'found'; readonly value: Value; readonly atMs: number }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string; readonly isBusy: boolean };

export interface ServiceLookupOptions<Value> {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  /** Sends one request; settles within `timeLimitMs`. */
  readonly query: (key: string) => Promise<FetchResult<Value>>;
  readonly timeLimitMs: number;
  /** How long an answer stays cached. */
  readonly cacheMs: number;
  readonly cacheEntriesMax: number;
  /** Most requests in flight. */
  readonly inFlightMax: number;
  /** How long the circuit stays open; ten seconds by default. */
  readonly openMs?: number | undefined;
  /** Called for each request and each rejection; not for cached answers and shared requests. */
  readonly recordCall?: (outcome: OutboundOutcome, milliseconds: number) => void;
}

/** Resolves within the time limit; at once when the answer is cached or the circuit is open. */
export type ServiceLookup<Value> = (key: string) => Promise<LookupResult<Value>>;

/** A time limit that ends later than this has waited for our own event loop, ms. */
const lateMsMax = 250;
/** Consecutive failures that open the circuit. */
const failuresMax = 3;
const openMsDefault = 10_000;

interface CircuitState<Value> extends ServiceLookupOptions<Value> {
  readonly cached: LRUCache<string, LookupResult<Value>>;
  readonly inFlight: SingleFlight<LookupResult<Value>>;
  readonly openMs: number;
  failures: number;
  openUntilMs: number;
  /** The service opened the circuit by status 429. */
  isBusy: boolean;
  /** How many requests the service has answered. */
  answers: number;
}

/** Creates the look-up at one service. It owns the cache, so create one per process. */
export const createServiceLookup = <Value>(options: ServiceLookupOptions<Value>): ServiceLookup<Value> => {
  const cached = new LRUCache<string, LookupResult<Value>>({
    max: options.cacheEntriesMax,
    ttl: options.cacheMs,
  });
  const state: CircuitState<Value> = {
    ...options,
    cached,
    inFlight: createSingleFlight(),
    openMs: options.openMs ?? openMsDefault,
    failures: 0,
    openUntilMs: 0,
    isBusy: false,
    answers: 0,
  };
  return (key) => {
    const cachedResult = state.cached.get(key);
    if (cachedResult !== undefined) return Promise.resolve(cachedResult);
    return state.inFlight.get(key) ?? startQuery(state, key);
  };
};

const toFailure = (message: string, isBusy = false): LookupResult<never> => ({
  kind: 'failed',
  message,
  isBusy,
});

const rejectQuery = <Value>({ recordCall }: CircuitState<Value>, failure: LookupResult<never>) => {
  recordCall?.('rejected', 0);
  return Promise.resolve(failure);
};

const startQuery = <Value>(state: CircuitState<Value>, key: string): Promise<LookupResult<Value>> => {
  const nowMs = state.clock.monotonicMs();
  if (nowMs < state.openUntilMs) {
    return rejectQuery(state, toFailure('failed several times and is not called for a while', state.isBusy));
  }
  if (state.inFlight.count() >= state.inFlightMax)
    return rejectQuery(state, toFailure('has too many requests in flight', true));
  // Half-open: until this request is answered, all others fail at once.
  if (state.failures >= failuresMax) state.openUntilMs = nowMs + state.timeLimitMs;
  return state.inFlight.share(key, () => runQuery(state, key));
};

const isRateLimited = (answer: FetchResult<unknown>): boolean =>
  answer.kind === 'refused' && answer.status === 429;

/**
 * Whether a request failed by our own load: a limit of ours, status 429, a time limit that our event loop
 * was late for, or no answer although others came meanwhile.
 */
const isOwnLoad = (
  { answers, timeLimitMs }: Pick<CircuitState<never>, 'answers' | 'timeLimitMs'>,
  answer: FetchResult<unknown>,
  begun: { readonly answers: number; readonly elapsedMs: number },
): boolean =>
  answer.kind === 'limited' ||
  isRateLimited(answer) ||
  (answer.kind === 'unreachable' && (answers > begun.answers || begun.elapsedMs > timeLimitMs + lateMsMax));

const runQuery = async <Value>(state: CircuitState<Value>, key: string): Promise<LookupResult<Value>> => {
  const startedMs = state.clock.monotonicMs();
  const { answers } = state;
  const answer = await state.query(key);
  const result = toLookupResult(answer, state.clock.nowMs());
  const elapsedMs = state.clock.monotonicMs() - startedMs;
  state.recordCall?.(result.kind === 'failed' ? 'failure' : 'success', elapsedMs);
  if (result.kind === 'failed') {
    const isBusy = isOwnLoad(state, answer, { answers, elapsedMs });
    noteFailure(state, isBusy, isRateLimited(answer));
    return { ...result, isBusy };
  }
  state.answers++;
  state.failures = 0;
  state.openUntilMs = 0;
  state.cached.set(key, result);
  return result;
};

const noteFailure = <Value>(state: CircuitState<Value>, isBusy: boolean, isLimited: boolean): void => {
  const nowMs = state.clock.monotonicMs();
  if (isBusy && !isLimited) {
    // Nothing was learned: the next request tries again whether the service answers.
    state.openUntilMs = Math.min(state.openUntilMs, nowMs);
    return;
  }
  state.failures = isLimited ? failuresMax : state.failures + 1;
  if (state.failures < failuresMax) return;
  state.openUntilMs = nowMs + state.openMs;
  state.isBusy = isLimited;
};

const toLookupResult = <Value>(answer: FetchResult<Value>, atMs: number): LookupResult<Value> => {
  switch (answer.kind) {
    case 'ok':
      return { kind: 'found', value: answer.value, atMs };
    case 'unreachable':
      return toFailure('did not answer');
    case 'limited':
    case 'malformed':
      return toFailure('sent an unexpected answer');
    case 'refused': {
      // An HTML page comes from a proxy in between, and says nothing about the key.
      const isDefinite = answer.status === 404 && typeof answer.answer === 'object' && answer.answer !== null;
      return isDefinite
        ? { kind: 'unknown', message: 'knows no such application' }
        : toRefusal(answer.status);
    }
  }
};

const toRefusal = (status: number): LookupResult<never> =>
  toFailure(status === 429 ? 'received too many requests (429)' : `answered with the status ${status}`);

/**
 * Looks things up by key at an external service, with a cache and a circuit breaker.
 *
 * One request per key is in flight at a time, shared by all callers; answers are cached; the number of
 * requests in flight is bounded. States:
 * - *closed*: requests are sent. Opens after some consecutive failures, or at once on status 429;
 * - *open*: no request is sent, every look-up fails at once. Ends when the pause is over;
 * - *half-open*: one request is sent and decides; all other look-ups fail at once.
 * Never throws and never retries. Messages are for clients: they name no address.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../engine/ports.ts';
import { createSingleFlight, type SingleFlight } from '../../engine/tools/single-flight.ts';
import type { OutboundOutcome } from '../telemetry/counts.ts';
import type { FetchResult } from './fetch-json.ts';

/** `found`: the value, and when it was read (wall clock). `unknown`: the service knows that there is none. */
export type LookupResult<Value> =
  | { readonly kind: 'found'; readonly value: Value; readonly atMs: number }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

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

/** Consecutive failures that open the circuit. */
const failuresMax = 3;
const openMsDefault = 10_000;

interface CircuitState<Value> extends ServiceLookupOptions<Value> {
  readonly cached: LRUCache<string, LookupResult<Value>>;
  readonly inFlight: SingleFlight<LookupResult<Value>>;
  readonly openMs: number;
  failures: number;
  openUntilMs: number;
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
  };
  return (key) => {
    const cachedResult = state.cached.get(key);
    if (cachedResult !== undefined) return Promise.resolve(cachedResult);
    return state.inFlight.get(key) ?? startQuery(state, key);
  };
};

const toFailure = (message: string): LookupResult<never> => ({ kind: 'failed', message });

const rejectQuery = <Value>({ recordCall }: CircuitState<Value>, message: string) => {
  recordCall?.('rejected', 0);
  return Promise.resolve(toFailure(message));
};

const startQuery = <Value>(state: CircuitState<Value>, key: string): Promise<LookupResult<Value>> => {
  const nowMs = state.clock.monotonicMs();
  if (nowMs < state.openUntilMs) {
    return rejectQuery(state, 'failed several times and is not called for a while');
  }
  if (state.inFlight.count() >= state.inFlightMax)
    return rejectQuery(state, 'has too many requests in flight');
  // Half-open: until this request is answered, all others fail at once.
  if (state.failures >= failuresMax) state.openUntilMs = nowMs + state.timeLimitMs;
  return state.inFlight.share(key, () => runQuery(state, key));
};

const runQuery = async <Value>(state: CircuitState<Value>, key: string): Promise<LookupResult<Value>> => {
  const startedMs = state.clock.monotonicMs();
  const answer = await state.query(key);
  const result = toLookupResult(answer, state.clock.nowMs());
  const outcome = result.kind === 'failed' ? 'failure' : 'success';
  state.recordCall?.(outcome, state.clock.monotonicMs() - startedMs);
  if (result.kind === 'failed') {
    const isOverloaded = answer.kind === 'refused' && answer.status === 429;
    state.failures = isOverloaded ? failuresMax : state.failures + 1;
    if (state.failures >= failuresMax) state.openUntilMs = state.clock.monotonicMs() + state.openMs;
    return result;
  }
  state.failures = 0;
  state.openUntilMs = 0;
  state.cached.set(key, result);
  return result;
};

const toLookupResult = <Value>(answer: FetchResult<Value>, atMs: number): LookupResult<Value> => {
  switch (answer.kind) {
    case 'ok':
      return { kind: 'found', value: answer.value, atMs };
    case 'unreachable':
      return toFailure('did not answer');
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

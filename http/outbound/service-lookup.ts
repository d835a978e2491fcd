/**
 * Asks one service of the outside about things by their key, and never leans on it.
 *
 * One question per key at a time, shared by all who ask; answers are kept for a while; so many questions at
 * once and no more. Modes:
 * - *asking*: questions go out. Left after some failures in a row, or at once when the service says 429;
 * - *resting*: nothing is asked, everybody learns at once that it failed. Left when the pause is over;
 * - *trying*: one question goes out and decides; all others are answered as if resting.
 * Never throws and never retries. Words are for clients: they name no address. Used by bot-lookup.ts.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../engine/ports.ts';
import { createSingleFlight, type SingleFlight } from '../../engine/tools/single-flight.ts';
import type { OutboundOutcome } from '../telemetry/outbound-meters.ts';
import type { FetchResult } from './fetch-json.ts';

/** `told`: what was asked for, and when (wall clock). `unknown`: the service is sure that there is none. */
export type LookupResult<Value> =
  | { readonly kind: 'told'; readonly value: Value; readonly atMs: number }
  | { readonly kind: 'unknown'; readonly words: string }
  | { readonly kind: 'failed'; readonly words: string };

export interface ServiceLookupOptions<Value> {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  /** One exchange; settles within `timeLimitMs`. */
  readonly query: (key: string) => Promise<FetchResult<Value>>;
  readonly timeLimitMs: number;
  /** How long an answer is believed. */
  readonly cacheMs: number;
  readonly cacheEntriesMax: number;
  /** Questions out at once. */
  readonly inFlightMax: number;
  /** Failures in a row before a rest, and how long that is. */
  readonly failuresMax: number;
  readonly openMs: number;
  /** Told of each question; not of what was kept or is under way. */
  readonly recordCall?: (outcome: OutboundOutcome, milliseconds: number) => void;
}

/** Resolves within the time limit; at once when the answer is kept or the service is resting. */
export type ServiceLookup<Value> = (key: string) => Promise<LookupResult<Value>>;

interface CircuitState<Value> extends ServiceLookupOptions<Value> {
  readonly cached: LRUCache<string, LookupResult<Value>>;
  readonly inFlight: SingleFlight<LookupResult<Value>>;
  failures: number;
  openUntilMs: number;
}

/** Wires one service. Holds what it kept, so one per process. */
export const createServiceLookup = <Value>(options: ServiceLookupOptions<Value>): ServiceLookup<Value> => {
  const cached = new LRUCache<string, LookupResult<Value>>({
    max: options.cacheEntriesMax,
    ttl: options.cacheMs,
  });
  const state: CircuitState<Value> = {
    ...options,
    cached,
    inFlight: createSingleFlight(),
    failures: 0,
    openUntilMs: 0,
  };
  return (key) => {
    const known = state.cached.get(key);
    if (known !== undefined) return Promise.resolve(known);
    return state.inFlight.get(key) ?? startQuery(state, key);
  };
};

const toFailure = (words: string): LookupResult<never> => ({ kind: 'failed', words });

const rejectQuery = <Value>(
  { recordCall }: CircuitState<Value>,
  words: string,
): Promise<LookupResult<Value>> => {
  recordCall?.('spared', 0);
  return Promise.resolve(toFailure(words));
};

const startQuery = <Value>(state: CircuitState<Value>, key: string): Promise<LookupResult<Value>> => {
  const nowMs = state.clock.monotonicMs();
  if (nowMs < state.openUntilMs) {
    return rejectQuery(state, 'failed several times and is left alone for a while');
  }
  if (state.inFlight.count() >= state.inFlightMax) return rejectQuery(state, 'is asked too much at once');
  // Trying: whoever comes before this one is answered is told that the service rests.
  if (state.failures >= state.failuresMax) state.openUntilMs = nowMs + state.timeLimitMs;
  return state.inFlight.share(key, () => runQuery(state, key));
};

const runQuery = async <Value>(state: CircuitState<Value>, key: string): Promise<LookupResult<Value>> => {
  const startedMs = state.clock.monotonicMs();
  const answer = await state.query(key);
  const result = toLookupResult(answer, state.clock.nowMs());
  const outcome = result.kind === 'failed' ? 'failed' : 'answered';
  state.recordCall?.(outcome, state.clock.monotonicMs() - startedMs);
  if (result.kind === 'failed') {
    const busy = answer.kind === 'refused' && answer.status === 429;
    state.failures = busy ? state.failuresMax : state.failures + 1;
    if (state.failures >= state.failuresMax) state.openUntilMs = state.clock.monotonicMs() + state.openMs;
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
      return { kind: 'told', value: answer.value, atMs };
    case 'unreachable':
      return toFailure('did not answer');
    case 'malformed':
      return toFailure('answered something that is not expected');
    case 'refused': {
      // A page instead of JSON comes from something in between, and says nothing about what was asked for.
      const sure = answer.status === 404 && typeof answer.answer === 'object' && answer.answer !== null;
      return sure ? { kind: 'unknown', words: 'knows no such application' } : toRefusal(answer.status);
    }
  }
};

const toRefusal = (status: number): LookupResult<never> =>
  toFailure(status === 429 ? 'is asked too often (429)' : `answered with the status ${status}`);

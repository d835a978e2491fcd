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
import type { OutsideOutcome } from '../outside-meters.ts';
import type { Answer } from './fetch-json.ts';

/** `told`: what was asked for, and when (wall clock). `unknown`: the service is sure that there is none. */
export type Told<Value> =
  | { readonly kind: 'told'; readonly value: Value; readonly atMs: number }
  | { readonly kind: 'unknown'; readonly words: string }
  | { readonly kind: 'failed'; readonly words: string };

export interface CalmOptions<Value> {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  /** One exchange; settles within `timeLimitMs`. */
  readonly ask: (key: string) => Promise<Answer<Value>>;
  readonly timeLimitMs: number;
  /** How long an answer is believed. */
  readonly keepMs: number;
  readonly keptMax: number;
  /** Questions out at once. */
  readonly askingMax: number;
  /** Failures in a row before a rest, and how long that is. */
  readonly failuresMax: number;
  readonly restMs: number;
  /** Told of each question; not of what was kept or is under way. */
  readonly observe?: (outcome: OutsideOutcome, milliseconds: number) => void;
}

/** Resolves within the time limit; at once when the answer is kept or the service is resting. */
export type Calm<Value> = (key: string) => Promise<Told<Value>>;

interface State<Value> extends CalmOptions<Value> {
  readonly kept: LRUCache<string, Told<Value>>;
  readonly underway: Map<string, Promise<Told<Value>>>;
  failures: number;
  restsUntilMs: number;
}

/** Wires one service. Holds what it kept, so one per process. */
export const createCalm = <Value>(options: CalmOptions<Value>): Calm<Value> => {
  const kept = new LRUCache<string, Told<Value>>({ max: options.keptMax, ttl: options.keepMs });
  const state: State<Value> = { ...options, kept, underway: new Map(), failures: 0, restsUntilMs: 0 };
  return (key) => {
    const known = state.kept.get(key);
    if (known !== undefined) return Promise.resolve(known);
    return state.underway.get(key) ?? start(state, key);
  };
};

const failed = (words: string): Told<never> => ({ kind: 'failed', words });

const spare = <Value>({ observe }: State<Value>, words: string): Promise<Told<Value>> => {
  observe?.('spared', 0);
  return Promise.resolve(failed(words));
};

const start = <Value>(state: State<Value>, key: string): Promise<Told<Value>> => {
  const nowMs = state.clock.monotonicMs();
  if (nowMs < state.restsUntilMs) {
    return spare(state, 'failed several times and is left alone for a while');
  }
  if (state.underway.size >= state.askingMax) return spare(state, 'is asked too much at once');
  // Trying: whoever comes before this one is answered is told that the service rests.
  if (state.failures >= state.failuresMax) state.restsUntilMs = nowMs + state.timeLimitMs;
  const asking = exchange(state, key).finally(() => state.underway.delete(key));
  state.underway.set(key, asking);
  return asking;
};

const exchange = async <Value>(state: State<Value>, key: string): Promise<Told<Value>> => {
  const startedMs = state.clock.monotonicMs();
  const answer = await state.ask(key);
  const told = judge(answer, state.clock.nowMs());
  const outcome = told.kind === 'failed' ? 'failed' : 'answered';
  state.observe?.(outcome, state.clock.monotonicMs() - startedMs);
  if (told.kind === 'failed') {
    const busy = answer.kind === 'refused' && answer.status === 429;
    state.failures = busy ? state.failuresMax : state.failures + 1;
    if (state.failures >= state.failuresMax) state.restsUntilMs = state.clock.monotonicMs() + state.restMs;
    return told;
  }
  state.failures = 0;
  state.restsUntilMs = 0;
  state.kept.set(key, told);
  return told;
};

const judge = <Value>(answer: Answer<Value>, atMs: number): Told<Value> => {
  switch (answer.kind) {
    case 'ok':
      return { kind: 'told', value: answer.value, atMs };
    case 'unreachable':
      return failed('did not answer');
    case 'malformed':
      return failed('answered something that is not expected');
    case 'refused': {
      // A page instead of JSON comes from something in between, and says nothing about what was asked for.
      const sure = answer.status === 404 && typeof answer.answer === 'object' && answer.answer !== null;
      return sure ? { kind: 'unknown', words: 'knows no such application' } : refused(answer.status);
    }
  }
};

const refused = (status: number): Told<never> =>
  failed(status === 429 ? 'is asked too often (429)' : `answered with the status ${status}`);

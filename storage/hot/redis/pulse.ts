/**
 * Whether every primary of Redis answers, known without traffic.
 *
 * Once a second each primary is asked (PING), unless a call of the store was answered just before; while
 * one is away, four times a second. One question per connection is out at a time, so a silent Redis costs
 * nothing. A primary counts as away when its last answer is `silenceMsMax` old and the question since is not
 * answered.
 * Decides nothing and repairs nothing: the link makes its connections again. Started by redis.ts.
 */
import type { Redis } from 'ioredis';
import type { Pulse } from '../../../engine/ports.ts';
import type { Link, Primary } from './link.ts';

const askEveryMs = 1_000;
const askAgainMs = 250;
/** A call answered so lately is as good as a question. */
const youngMs = 500;
/** With the time until the next question this is less than the 3 s that docs/operating.md names. */
const silenceMsMax = 2_000;
/** A question is given so long before its silence says something. */
const patienceMs = 500;

interface State {
  answeredMs: number;
  /** Where the question that is out went; `null` while none is. */
  asking: Redis | null;
  askedMs: number;
  /** The last question came to nothing: no connection, or a refusal. */
  failed: boolean;
  /** Why Redis refuses, in words; `''` where it is only silent. */
  refusal: string;
}

/** By the first word of an error answer. */
const refusals: Readonly<Record<string, string>> = {
  LOADING: 'it is loading its data',
  BUSY: 'a script keeps it busy',
  MISCONF: 'it cannot write to its disk',
  MASTERDOWN: 'it is a replica without its primary',
  NOAUTH: 'it wants another password',
  WRONGPASS: 'it wants another password',
  NOPERM: 'the user of REDIS_URL may not do this',
};

const refusalOf = (error: Error): string => {
  if (error.name !== 'ReplyError') return '';
  return refusals[/^[A-Z]+/.exec(error.message)?.[0] ?? ''] ?? 'its log tells why';
};

export interface RunningPulse extends Pulse {
  stop(): void;
}

/** Starts to ask. */
export const startPulse = (link: Link): RunningPulse => {
  const states = new Map<string, State>();
  let timer: NodeJS.Timeout;
  const turn = (): void => {
    const primaries = link.named();
    forgetOthers(states, primaries);
    for (const primary of primaries) look(link, stateOf(states, primary), primary);
    const troubled = [...states.values()].some(({ failed }) => failed);
    timer = setTimeout(turn, troubled ? askAgainMs : askEveryMs);
    timer.unref();
  };
  turn();
  const oneServer = link.lastAnswerMs() !== null;
  return {
    listSilent: () => wordsOf(states, oneServer ? link.lastAnswerMs() : null),
    getAnsweredMs: () => {
      const last = [...states.values()].map(({ answeredMs }) => answeredMs);
      return Math.max(link.lastAnswerMs() ?? Number.NEGATIVE_INFINITY, Math.min(...last));
    },
    stop: () => clearTimeout(timer),
  };
};

/** A primary that lost its slots to another one does not have to answer. */
const forgetOthers = (states: Map<string, State>, primaries: readonly Primary[]): void => {
  const names = new Set(primaries.map(({ name }) => name));
  for (const name of states.keys()) if (!names.has(name)) states.delete(name);
};

const stateOf = (states: Map<string, State>, { name }: Primary): State => {
  let state = states.get(name);
  if (state === undefined) {
    state = { answeredMs: performance.now(), asking: null, askedMs: 0, failed: false, refusal: '' };
    states.set(name, state);
  }
  return state;
};

const look = (link: Link, state: State, { redis }: Primary): void => {
  const nowMs = performance.now();
  const lastAnswerMs = link.lastAnswerMs() ?? Number.NEGATIVE_INFINITY;
  if (nowMs - lastAnswerMs < youngMs) {
    answered(state, lastAnswerMs);
  } else if (redis === null) {
    state.failed = true;
    link.findPrimaries();
  } else if (state.asking !== redis) {
    state.asking = redis;
    state.askedMs = nowMs;
    redis.ping().then(
      () => {
        if (state.asking === redis) answered(state, performance.now());
      },
      (error: Error) => {
        if (state.asking !== redis) return;
        state.asking = null;
        state.failed = true;
        state.refusal = refusalOf(error);
        link.findPrimaries();
      },
    );
  }
};

const answered = (state: State, atMs: number): void => {
  state.answeredMs = atMs;
  state.asking = null;
  state.failed = false;
  state.refusal = '';
};

const wordsOf = (states: ReadonlyMap<string, State>, lastAnswerMs: number | null): readonly string[] => {
  const nowMs = performance.now();
  const words: string[] = [];
  for (const [name, state] of states) {
    const silentMs = nowMs - Math.max(state.answeredMs, lastAnswerMs ?? Number.NEGATIVE_INFINITY);
    const unanswered = state.failed || (state.asking !== null && nowMs - state.askedMs >= patienceMs);
    if (silentMs < silenceMsMax || !unanswered) continue;
    const who = lastAnswerMs === null ? `Redis at ${name}` : 'Redis';
    const seconds = Math.floor(silentMs / 1_000);
    if (state.refusal === '') words.push(`${who} has not answered for ${seconds} s`);
    else words.push(`${who} has refused everything for ${seconds} s: ${state.refusal}`);
  }
  return words;
};

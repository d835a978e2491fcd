/**
 * Checks whether every primary of Redis answers, even when there is no traffic.
 *
 * Pings each primary once a second, unless the store got an answer just before; four times a second while a
 * primary fails. At most one PING per connection is pending, so a silent Redis costs nothing. A primary
 * counts as silent when its last answer is `silenceMsMax` old and the PING since then has no answer. With
 * each check it looks whether a crash or a failover may lose writes (durability.ts), whether a slot stays
 * half-moved (slot-moves.ts) and whether a right is missing (rights.ts). Only observes: the link reconnects
 * by itself.
 */
import type { Redis } from 'ioredis';
import { alignPause } from '../../../engine/tools/align-pause.ts';
import type { Note } from '../../../engine/tools/notes.ts';
import type { DurabilityWatch } from './durability.ts';
import type { Library } from './library.ts';
import type { Link, Primary } from './link.ts';
import { createRightsWatch } from './rights.ts';
import { createSlotMoves } from './slot-moves.ts';

const pingEveryMs = 1_000;
const pingFailedEveryMs = 250;
/** A call that was answered this recently replaces a PING. */
const recentAnswerMs = 900;
/** With the time until the next PING this stays below the 3 s that docs/runbook/redis-away.md promises. */
const silenceMsMax = 2_000;
/** A PING without an answer counts as unanswered after this time. */
const unansweredAfterMs = 500;

interface PrimaryState {
  answeredMs: number;
  /** The connection that the pending PING was sent to; `null` while none is pending. */
  pendingOn: Redis | null;
  pingedMs: number;
  /** The last PING failed: no connection, or a refusal. */
  failed: boolean;
  /** Why Redis refuses, for operators; `''` if it only stays silent. */
  refusal: string;
}

/** Explanations by the first word of an error answer. */
const refusals: Readonly<Record<string, string>> = {
  LOADING: 'it is loading its data',
  BUSY: 'a script keeps it busy',
  MISCONF: 'it cannot write to its disk',
  MASTERDOWN: 'it is a replica without its primary',
  NOAUTH: 'it requires another password',
  WRONGPASS: 'it requires another password',
  NOPERM: 'the user of REDIS_URL may not do this',
};

const describeRefusal = (error: Error | null): string => {
  if (error?.name !== 'ReplyError') return '';
  return refusals[/^[A-Z]+/.exec(error.message)?.[0] ?? ''] ?? 'its log says why';
};

export type RunningPulse = ReturnType<typeof startPulse>;

/** Starts the checks, which run until `stop`. */
export const startPulse = (link: Link, durability: DurabilityWatch, library: Library) => {
  const listSilent = () => describeSilent(states, oneServer ? link : null);
  const oneServer = link.lastAnswerMs() !== null;
  const slotMoves = createSlotMoves(link);
  const rights = createRightsWatch(link.listPrimaries, library);
  const states = new Map<string, PrimaryState>();
  let timer: NodeJS.Timeout;
  const checkAll = (): void => {
    const primaries = link.listSlotOwners();
    forgetRemoved(states, primaries);
    for (const primary of primaries) checkPrimary(link, getState(states, primary), primary);
    void durability.check();
    void slotMoves.check();
    void rights.check();
    const nowMs = performance.now();
    const anyFailed = [...states.values()].some((state) => isUnanswered(state, nowMs));
    const pauseMs = anyFailed ? pingFailedEveryMs : pingEveryMs;
    timer = setTimeout(checkAll, alignPause(pauseMs, nowMs));
    timer.unref();
  };
  checkAll();
  return {
    listSilent,
    /** Slots of a Cluster that stay half-moved, and rights that are missing. */
    listNotes: () => [...slotMoves.listNotes(), ...rights.listNotes()],
    mayLoseTail: durability.wasWeak,
    getAnsweredMs: () => {
      const last = [...states.values()].map(({ answeredMs }) => answeredMs);
      return Math.max(link.lastAnswerMs() ?? Number.NEGATIVE_INFINITY, Math.min(...last));
    },
    stop: () => clearTimeout(timer),
  };
};

/** Forgets primaries that no longer own slots: they need not answer. */
const forgetRemoved = (states: Map<string, PrimaryState>, primaries: readonly Primary[]): void => {
  const names = new Set(primaries.map(({ name }) => name));
  for (const name of states.keys()) if (!names.has(name)) states.delete(name);
};

const getState = (states: Map<string, PrimaryState>, { name }: Primary): PrimaryState => {
  const fresh = { answeredMs: performance.now(), pendingOn: null, pingedMs: 0, failed: false, refusal: '' };
  const state = states.get(name) ?? fresh;
  states.set(name, state);
  return state;
};

const checkPrimary = (link: Link, state: PrimaryState, { redis }: Primary): void => {
  const nowMs = performance.now();
  const lastAnswerMs = link.lastAnswerMs() ?? Number.NEGATIVE_INFINITY;
  if (nowMs - lastAnswerMs < recentAnswerMs) {
    recordAnswer(state, lastAnswerMs);
  } else if (redis === null) {
    state.failed = true;
    link.findPrimaries();
  } else if (isUnanswered(state, nowMs) && state.pendingOn === redis) {
    // The primary may be cut off. Without a new look-up, calls to it would time out while its replacement
    // already serves.
    link.findPrimaries();
  } else if (state.pendingOn !== redis) {
    state.pendingOn = redis;
    state.pingedMs = nowMs;
    redis.ping().then(
      () => {
        if (state.pendingOn === redis) recordAnswer(state, performance.now());
      },
      (error: Error) => {
        if (state.pendingOn !== redis) return;
        state.pendingOn = null;
        state.failed = true;
        state.refusal = describeRefusal(error);
        link.findPrimaries();
      },
    );
  }
};

/** Whether the last PING failed, or has no answer for so long that it counts as unanswered. */
const isUnanswered = ({ failed, pendingOn, pingedMs }: PrimaryState, nowMs: number): boolean =>
  failed || (pendingOn !== null && nowMs - pingedMs >= unansweredAfterMs);

const recordAnswer = (state: PrimaryState, atMs: number): void => {
  state.answeredMs = atMs;
  state.pendingOn = null;
  state.failed = false;
  state.refusal = '';
};

/** Describes the primaries that are silent. `link` is that of one server, `null` for a Cluster. */
const describeSilent = (states: ReadonlyMap<string, PrimaryState>, link: Link | null): Note[] => {
  const nowMs = performance.now();
  const refusedConnection = describeRefusal(link?.connectionFailure() ?? null);
  const descriptions: Note[] = [];
  for (const [name, state] of states) {
    const silentMs = nowMs - Math.max(state.answeredMs, link?.lastAnswerMs() ?? Number.NEGATIVE_INFINITY);
    if (silentMs < silenceMsMax || !isUnanswered(state, nowMs)) continue;
    const server = link === null ? `Redis at ${name}` : 'Redis';
    const seconds = Math.floor(silentMs / 1_000);
    const refusal = state.refusal || refusedConnection;
    if (refusal === '') descriptions.push(`hot_store_away: ${server} has not answered for ${seconds} s`);
    else descriptions.push(`hot_store_away: ${server} has refused everything for ${seconds} s: ${refusal}`);
  }
  return descriptions;
};

/**
 * Requests that wait for the next vote of a listing (`wait=` of the vote log).
 *
 * An awaited listing is watched: a vote on it, on any node, makes this node flush its votes early, and a
 * flush of this node that writes votes of an awaited log looks at once. For flushes of other nodes one timer
 * runs while any request waits: it reads the heads of all awaited logs by one statement. The number of
 * waiting requests is bounded; one whose client left makes room, and above the bound a request is refused.
 * When a read fails, each request ends with its own time.
 */
import type { Engine, Watch } from '../../../engine/engine.ts';
import type { DomainError } from '../../../engine/errors.ts';
import type { EntityRef, Incarnation } from '../../../engine/ids.ts';
import type { Clock } from '../../../engine/ports.ts';
import type { LogHead } from '../../../storage/catalogue/votes/vote-log.ts';
import { createUnavailableError } from '../../response/errors.ts';

/** What a request waits for. */
export interface LogWait {
  readonly ref: EntityRef;
  /** It ends when the log has a higher number than this. */
  readonly number: number;
  /** Votes that were cast on the listing when the log was read, to notice one that came since. */
  readonly votesCast: number;
  readonly waitMs: number;
  /** Calls its argument when the client disconnects. */
  readonly whenClientGone: (listener: () => void) => void;
}

export interface VoteLogWaitersParts {
  readonly engine: Pick<Engine, 'watch' | 'flushEarly'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Reads the head of each log. */
  readonly readHeads: (incarnations: readonly number[]) => Promise<ReadonlyMap<number, LogHead>>;
  readonly waitersMax?: number;
  readonly lookEveryMs?: number;
}

interface Waiter {
  readonly log: AwaitedLog;
  readonly number: number;
  readonly endMs: number;
  readonly release: () => void;
}

/** A listing for whose votes requests wait. */
interface AwaitedLog {
  readonly ref: EntityRef;
  readonly watch: Watch;
  readonly waiters: Set<Waiter>;
  votesCast: number;
}

interface WaitersState extends Required<VoteLogWaitersParts> {
  readonly logs: Map<Incarnation, AwaitedLog>;
  waiting: number;
  refused: number;
  /** A look is scheduled or in progress. */
  looking: boolean;
  /** Heads are being read. */
  reading: boolean;
  /** Votes came while heads were being read. */
  lookAgain: boolean;
  closed: boolean;
  cancelTimer: () => void;
}

export const voteLogWaitersMax = 5_000;

/** Refused clients come back at different times. */
const retrySeconds = { min: 5, max: 15 } as const;

export const createVoteLogWaiters = (parts: VoteLogWaitersParts) => {
  const state: WaitersState = {
    waitersMax: voteLogWaitersMax,
    lookEveryMs: 500,
    ...parts,
    logs: new Map(),
    waiting: 0,
    refused: 0,
    looking: false,
    reading: false,
    lookAgain: false,
    closed: false,
    cancelTimer: () => {},
  };
  return {
    /**
     * Resolves when the log is longer, after `waitMs`, when the client left, or when closed. Rejects with
     * `overloaded` when too many requests wait.
     */
    wait: (wanted: LogWait) => wait(state, wanted),
    /** Votes of these listings are in SQL. Looks at once if one of them is awaited. */
    wake: (incarnations: ReadonlySet<number>) => {
      for (const incarnation of incarnations) {
        if (state.logs.has(incarnation as Incarnation)) return void look(state);
      }
    },
    /** How many requests wait. */
    count: () => state.waiting,
    /** Answers all, and from here on at once. */
    close: () => {
      state.closed = true;
      state.cancelTimer();
      for (const waiter of listWaiters(state)) release(state, waiter);
    },
  };
};
export type VoteLogWaiters = ReturnType<typeof createVoteLogWaiters>;

const listWaiters = ({ logs }: WaitersState): Waiter[] =>
  [...logs.values()].flatMap(({ waiters }) => [...waiters]);

const wait = async (state: WaitersState, wanted: LogWait): Promise<void> => {
  if (state.closed) return;
  if (state.waiting >= state.waitersMax) throw createFullError(state);
  const log = state.logs.get(wanted.ref.incarnation) ?? watchLog(state, wanted);
  await new Promise<void>((resolve) => {
    const endMs = state.clock.monotonicMs() + wanted.waitMs;
    const waiter: Waiter = { log, number: wanted.number, endMs, release: resolve };
    log.waiters.add(waiter);
    state.waiting += 1;
    if (!state.looking) scheduleLook(state);
    wanted.whenClientGone(() => release(state, waiter));
  });
};

const createFullError = (state: WaitersState): DomainError => {
  const span = retrySeconds.max - retrySeconds.min + 1;
  const seconds = retrySeconds.min + (state.refused++ % span);
  const message = `${state.waitersMax} requests wait here, which is the maximum. Try again later.`;
  return createUnavailableError('overloaded', message, seconds);
};

const watchLog = (state: WaitersState, { ref, votesCast }: LogWait): AwaitedLog => {
  const notice = (): void => void noticeVotes(state, log).catch(() => undefined);
  const watch = state.engine.watch(ref.kind, ref.id, notice);
  const log: AwaitedLog = { ref, watch, votesCast, waiters: new Set() };
  state.logs.set(ref.incarnation, log);
  notice();
  return log;
};

/** Any change of the listing calls this; a new vote is flushed early. The next look repeats what failed. */
const noticeVotes = async (state: WaitersState, log: AwaitedLog): Promise<void> => {
  const view = await log.watch.read();
  const votesCast = view.state.upvotes + view.state.downvotes;
  if (votesCast === log.votesCast) return;
  log.votesCast = votesCast;
  state.engine.flushEarly(log.ref.kind, log.ref.id);
};

const release = (state: WaitersState, waiter: Waiter): void => {
  const { log } = waiter;
  if (!log.waiters.delete(waiter)) return;
  state.waiting -= 1;
  if (log.waiters.size === 0) {
    log.watch.close();
    state.logs.delete(log.ref.incarnation);
  }
  waiter.release();
};

const scheduleLook = (state: WaitersState): void => {
  state.looking = true;
  state.cancelTimer = state.clock.after(state.lookEveryMs, () => void look(state));
};

const look = async (state: WaitersState): Promise<void> => {
  state.lookAgain = true;
  if (state.reading) return;
  state.reading = true;
  state.cancelTimer();
  while (state.lookAgain) {
    state.lookAgain = false;
    await releaseServed(state);
  }
  state.reading = false;
  state.looking = false;
  if (state.waiting > 0 && !state.closed) scheduleLook(state);
};

const releaseServed = async (state: WaitersState): Promise<void> => {
  const heads = await state.readHeads([...state.logs.keys()]).catch(() => new Map<number, LogHead>());
  const nowMs = state.clock.monotonicMs();
  for (const waiter of listWaiters(state)) {
    const isLonger = (heads.get(waiter.log.ref.incarnation)?.number ?? 0) > waiter.number;
    if (isLonger || nowMs >= waiter.endMs) release(state, waiter);
  }
};

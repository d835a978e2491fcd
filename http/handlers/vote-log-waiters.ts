/**
 * Requests that wait for the next vote of a listing (`wait=` of the vote log).
 *
 * A flush of this node that writes votes of an awaited log looks at once. For flushes of other nodes one
 * timer runs while any request waits: it reads the heads of all awaited logs by one statement. The number of
 * waiting requests is bounded; above it a request is answered at once, as it is when the node leaves. When
 * a read fails, each request ends with its own time. Created by the composition root, used by vote-log.ts.
 */
import type { Clock } from '../../engine/ports.ts';
import type { LogHead } from '../../storage/catalogue/votes/vote-log.ts';

export interface VoteLogWaiters {
  /** Resolves when the log of this listing is longer than `number`, after `waitMs`, or when closed. */
  wait(incarnation: number, number: number, waitMs: number): Promise<void>;
  /** Votes of these listings are in SQL. Looks at once if one of them is awaited. */
  wake(incarnations: ReadonlySet<number>): void;
  /** Answers all, and from here on at once. */
  close(): void;
}

export interface VoteLogWaitersParts {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Reads the head of each log. */
  readonly readHeads: (incarnations: readonly number[]) => Promise<ReadonlyMap<number, LogHead>>;
  readonly waitersMax?: number;
  readonly lookEveryMs?: number;
}

interface Waiter {
  readonly incarnation: number;
  readonly number: number;
  readonly endMs: number;
  readonly release: () => void;
}

interface WaitersState extends Required<VoteLogWaitersParts> {
  readonly waiters: Set<Waiter>;
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

export const createVoteLogWaiters = (parts: VoteLogWaitersParts): VoteLogWaiters => {
  const state: WaitersState = {
    waitersMax: voteLogWaitersMax,
    lookEveryMs: 500,
    ...parts,
    waiters: new Set(),
    looking: false,
    reading: false,
    lookAgain: false,
    closed: false,
    cancelTimer: () => {},
  };
  return {
    wait: (incarnation, number, waitMs) => {
      if (state.closed || state.waiters.size >= state.waitersMax) return Promise.resolve();
      return new Promise((resolve) => {
        const endMs = state.clock.monotonicMs() + waitMs;
        state.waiters.add({ incarnation, number, endMs, release: resolve });
        if (!state.looking) scheduleLook(state);
      });
    },
    wake: (incarnations) => {
      for (const { incarnation } of state.waiters) {
        if (incarnations.has(incarnation)) return void look(state);
      }
    },
    close: () => {
      state.closed = true;
      state.cancelTimer();
      for (const waiter of state.waiters) waiter.release();
      state.waiters.clear();
    },
  };
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
  if (state.waiters.size > 0 && !state.closed) scheduleLook(state);
};

const releaseServed = async (state: WaitersState): Promise<void> => {
  const incarnations = [...new Set([...state.waiters].map(({ incarnation }) => incarnation))];
  const heads = await state.readHeads(incarnations).catch(() => new Map<number, LogHead>());
  const nowMs = state.clock.monotonicMs();
  for (const waiter of state.waiters) {
    const isLonger = (heads.get(waiter.incarnation)?.number ?? 0) > waiter.number;
    if (!isLonger && nowMs < waiter.endMs) continue;
    state.waiters.delete(waiter);
    waiter.release();
  }
};

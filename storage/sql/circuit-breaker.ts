/**
 * The circuit breaker of a database server: while the server is away, work that needs it fails at once.
 *
 * - *closed*: work passes. The breaker opens when work finds the server unreachable, or when work runs longer
 *   than `suspectMs` and a probe gets no answer, or when a caller opens it.
 * - *open*: work is refused before it is sent (`not_applied`). A probe on a connection of its own runs at
 *   once, then every `retryMs`; the first answer closes the breaker. Work in flight for longer than
 *   `suspectMs` is given up as `unknown`.
 * It never repeats work, and a slow server that answers does not open it. If several pieces of work wait for
 * longer than `stuckMs`, and none has ended in that time though probes are answered, the connections are
 * dead: it gives all work up and says so, once until other work succeeds.
 */
import { StorageError, toMessage } from '../../engine/errors.ts';
import { toStorageError } from './errors.ts';

export interface CircuitBreakerParts {
  /** Resolves when the server answers; rejects within a bounded time when it does not. */
  readonly probe: () => Promise<unknown>;
  /** Pause between probes. */
  readonly retryMs: number;
  /** Work in flight for longer makes the breaker probe the server. */
  readonly suspectMs: number;
  /** The longest time in which none of several pieces of work ends, if their connections work. */
  readonly stuckMs?: number;
  /** Called when it gave up work on dead connections: later work needs others. Must not throw. */
  readonly onStuck?: () => void;
}

interface InFlightCall {
  readonly startedMs: number;
  sinceMs: number;
  giveUp(): void;
}

interface BreakerState extends CircuitBreakerParts {
  readonly calls: Set<InFlightCall>;
  mode: 'closed' | 'open' | 'ended';
  probing: boolean;
  reason: string;
  /** When it last opened, steady time in ms. */
  openedMs: number;
  /** When work last ended, except by a refusal before it was sent; steady time in ms. */
  endedMs: number;
  /** Work on dead connections was given up, and none has succeeded since. */
  gaveUp: boolean;
  watch: NodeJS.Timeout | undefined;
  retry: NodeJS.Timeout | undefined;
}

/** Creates a closed breaker. */
export const createCircuitBreaker = (parts: CircuitBreakerParts) => {
  const state: BreakerState = {
    ...parts,
    calls: new Set(),
    mode: 'closed',
    probing: false,
    reason: '',
    openedMs: 0,
    endedMs: 0,
    gaveUp: false,
    watch: undefined,
    retry: undefined,
  };
  return {
    /** Runs the work, or refuses it in well under a millisecond. */
    run: <Result>(work: () => PromiseLike<Result>) => run(state, work),
    /** Opens until a probe is answered. */
    open: (reason: string) => open(state, reason),
    /** Describes an open breaker, such as "it has not answered for 4 s (ECONNREFUSED)", else `null`. */
    getLastError: () => (state.mode === 'open' ? describeOutage(state) : null),
    /** Stops its timers; work passes from then on. */
    close: () => {
      state.mode = 'ended';
      clearInterval(state.watch);
      clearTimeout(state.retry);
    },
  };
};
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

const describeOutage = ({ openedMs, reason }: BreakerState): string =>
  `it has not answered for ${Math.floor((performance.now() - openedMs) / 1_000)} s (${reason})`;

const run = <Result>(state: BreakerState, work: () => PromiseLike<Result>): Promise<Result> => {
  if (state.mode === 'open') return Promise.reject(createUnreachableError(state, 'not_applied'));
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const call: InFlightCall = {
      startedMs,
      sinceMs: startedMs,
      giveUp: () => reject(createUnreachableError(state, 'unknown')),
    };
    beginCall(state, call);
    work().then(
      (result) => {
        endCall(state, call, true);
        state.gaveUp = false;
        resolve(result);
      },
      (error: unknown) => {
        // Else its connection was ended here.
        const isExpected = state.calls.has(call);
        endCall(state, call, !isRefusal(error));
        const failure = toStorageError('sql', error);
        if (isExpected && failure.reason === 'unreachable') open(state, failure.message);
        reject(error);
      },
    );
  });
};

const createUnreachableError = (state: BreakerState, outcome: 'not_applied' | 'unknown'): StorageError =>
  new StorageError('sql', {
    outcome,
    reason: 'unreachable',
    detail: `the database is away: ${state.reason}`,
  });

const beginCall = (state: BreakerState, call: InFlightCall): void => {
  state.calls.add(call);
  if (state.watch !== undefined || state.mode === 'ended') return;
  state.watch = setInterval(() => checkSilence(state), state.suspectMs / 4);
  state.watch.unref();
};

/** Whether the admission refused the work: that says nothing of the connections. */
const isRefusal = (error: unknown): boolean => error instanceof StorageError && error.reason === 'full';

const endCall = (state: BreakerState, call: InFlightCall, wasSent: boolean): void => {
  state.calls.delete(call);
  if (wasSent) state.endedMs = performance.now();
  if (state.calls.size > 0) return;
  clearInterval(state.watch);
  state.watch = undefined;
};

const checkSilence = (state: BreakerState): void => {
  const limitMs = performance.now() - state.suspectMs;
  const suspects = [...state.calls].filter((call) => call.sinceMs < limitMs);
  if (suspects.length === 0 || state.mode !== 'closed' || state.probing) return;
  probeOnce(state, () => {
    if (isStuck(state)) giveUpAll(state);
    // The server answers, so this work is only slow: probe again after the same time.
    for (const call of suspects) call.sinceMs = performance.now();
  });
};

const isStuck = ({ calls, gaveUp, endedMs, stuckMs = Number.POSITIVE_INFINITY }: BreakerState): boolean => {
  const limitMs = performance.now() - stuckMs;
  const old = [...calls].filter(({ startedMs }) => startedMs < limitMs);
  return old.length > 1 && endedMs < limitMs && !gaveUp;
};

const giveUpAll = (state: BreakerState): void => {
  state.gaveUp = true;
  state.reason = 'it answers, but not on the connections that this work had';
  for (const call of state.calls) call.giveUp();
  state.calls.clear();
  state.onStuck?.();
};

const open = (state: BreakerState, reason: string): void => {
  if (state.mode !== 'closed') return;
  setOpen(state, reason);
  if (!state.probing) probeUntilAnswered(state);
};

/** Keeps the time when it first opened. */
const setOpen = (state: BreakerState, reason: string): void => {
  if (state.mode === 'closed') state.openedMs = performance.now();
  state.mode = 'open';
  state.reason = reason;
};

const probeUntilAnswered = (state: BreakerState): void =>
  probeOnce(state, () => {
    if (state.mode === 'open') state.mode = 'closed';
  });

const probeOnce = (state: BreakerState, onAnswer: () => void): void => {
  state.probing = true;
  state.probe().then(
    () => {
      state.probing = false;
      onAnswer();
      if (state.mode === 'open') probeUntilAnswered(state);
    },
    (error: unknown) => {
      state.probing = false;
      handleSilence(state, toMessage(error));
    },
  );
};

const handleSilence = (state: BreakerState, reason: string): void => {
  if (state.mode === 'ended') return;
  setOpen(state, reason);
  const limitMs = performance.now() - state.suspectMs;
  for (const call of state.calls) if (call.sinceMs < limitMs) call.giveUp();
  state.retry = setTimeout(() => probeUntilAnswered(state), state.retryMs);
  state.retry.unref();
};

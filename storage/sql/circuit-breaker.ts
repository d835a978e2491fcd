/**
 * The breaker in front of a database server: while it is away, work that needs it fails at once.
 *
 * Modes:
 * - *closed*: work passes. Left when work finds the server unreachable, or when work takes suspiciously
 *   long and a probe finds nobody;
 * - *open*: work is refused before it is sent (`not_applied`). A probe on a connection of its own asks at
 *   once, then every `retryMs`; the first answer closes the breaker. Work already out that took
 *   suspiciously long is given up as `unknown`. Never repeats work, and never tells a slow server from a
 *   quick one: only a silent one. Called by server.ts.
 */
import { StorageError } from '../../engine/errors.ts';
import { toStorageError } from './errors.ts';

export interface CircuitBreakerParts {
  /** Resolves when the server answers; rejects within a bounded time when it does not. */
  readonly probe: () => Promise<unknown>;
  /** Pause between probes. */
  readonly retryMs: number;
  /** Work that is out for longer makes the breaker ask whether the server is still there. */
  readonly suspectMs: number;
}

export interface CircuitBreaker {
  /** Runs the work, or refuses it in well under a millisecond. */
  run<Result>(work: () => PromiseLike<Result>): Promise<Result>;
  /** Words while open, such as "it has not answered for 4 s", else `null`. */
  getLastError(): string | null;
  /** Stops its timers; work passes from then on. */
  close(): void;
}

interface Call {
  sinceMs: number;
  giveUp(): void;
}

interface BreakerState extends CircuitBreakerParts {
  readonly flights: Set<Call>;
  mode: 'closed' | 'open' | 'ended';
  probing: boolean;
  why: string;
  /** When it last opened, by the steady clock. */
  openedMs: number;
  watch: NodeJS.Timeout | undefined;
  retry: NodeJS.Timeout | undefined;
}

export const createCircuitBreaker = (parts: CircuitBreakerParts): CircuitBreaker => {
  const state: BreakerState = {
    ...parts,
    flights: new Set(),
    mode: 'closed',
    probing: false,
    why: '',
    openedMs: 0,
    watch: undefined,
    retry: undefined,
  };
  return {
    run: (work) => run(state, work),
    getLastError: () => (state.mode === 'open' ? words(state) : null),
    close: () => {
      state.mode = 'ended';
      clearInterval(state.watch);
      clearTimeout(state.retry);
    },
  };
};

const words = ({ openedMs }: BreakerState): string =>
  `it has not answered for ${Math.floor((performance.now() - openedMs) / 1_000)} s`;

const run = <Result>(state: BreakerState, work: () => PromiseLike<Result>): Promise<Result> => {
  if (state.mode === 'open') return Promise.reject(createUnreachableError(state, 'not_applied'));
  return new Promise((resolve, reject) => {
    const flight: Call = {
      sinceMs: performance.now(),
      giveUp: () => reject(createUnreachableError(state, 'unknown')),
    };
    takeOff(state, flight);
    work().then(
      (result) => {
        endCall(state, flight);
        resolve(result);
      },
      (error: unknown) => {
        endCall(state, flight);
        const failure = toStorageError('sql', error);
        if (failure.reason === 'unreachable') open(state, failure.message);
        reject(error);
      },
    );
  });
};

const createUnreachableError = (state: BreakerState, outcome: 'not_applied' | 'unknown'): StorageError =>
  new StorageError('sql', { outcome, reason: 'unreachable', detail: `the database is away: ${state.why}` });

const takeOff = (state: BreakerState, flight: Call): void => {
  state.flights.add(flight);
  if (state.watch !== undefined || state.mode === 'ended') return;
  state.watch = setInterval(() => lookForSilence(state), state.suspectMs / 4);
  state.watch.unref();
};

const endCall = (state: BreakerState, flight: Call): void => {
  state.flights.delete(flight);
  if (state.flights.size > 0) return;
  clearInterval(state.watch);
  state.watch = undefined;
};

const lookForSilence = (state: BreakerState): void => {
  const limitMs = performance.now() - state.suspectMs;
  const suspects = [...state.flights].filter((flight) => flight.sinceMs < limitMs);
  if (suspects.length === 0 || state.mode !== 'closed' || state.probing) return;
  ask(state, () => {
    // It answers, so this work is only slow: asked again when as much time has passed once more.
    for (const flight of suspects) flight.sinceMs = performance.now();
  });
};

const open = (state: BreakerState, why: string): void => {
  if (state.mode !== 'closed') return;
  state.mode = 'open';
  state.why = why;
  state.openedMs = performance.now();
  if (!state.probing) askUntilAnswered(state);
};

const askUntilAnswered = (state: BreakerState): void =>
  ask(state, () => {
    if (state.mode === 'open') state.mode = 'closed';
  });

const ask = (state: BreakerState, answered: () => void): void => {
  state.probing = true;
  state.probe().then(
    () => {
      state.probing = false;
      answered();
      if (state.mode === 'open') askUntilAnswered(state);
    },
    (error: unknown) => {
      state.probing = false;
      silent(state, error instanceof Error ? error.message : String(error));
    },
  );
};

const silent = (state: BreakerState, why: string): void => {
  if (state.mode === 'ended') return;
  if (state.mode === 'closed') state.openedMs = performance.now();
  state.mode = 'open';
  state.why = why;
  const limitMs = performance.now() - state.suspectMs;
  for (const flight of state.flights) if (flight.sinceMs < limitMs) flight.giveUp();
  state.retry = setTimeout(() => askUntilAnswered(state), state.retryMs);
  state.retry.unref();
};

/**
 * The flusher: carries dirty entities and accepted votes from the hot store to the ledger, and the ledger's
 * adjustments back.
 *
 * One round at a time: peek → one ledger transaction → acknowledge. After a crash between two steps the
 * repeated round is harmless (absolute totals under a guard, votes by their own id). It never changes a
 * number. Modes:
 * - *waiting*: until the interval passes or a flush request comes (`waitForFlush`);
 * - *working*: rounds without pause while the last one was full;
 * - *backing off*: a store failed; the pause doubles from the interval to `limits.flushBackoffMaxMs`;
 * - *stopped*: before `start` and after `drain`.
 *
 * A row that the ledger can never store is found by halving the round and becomes a dead letter.
 */
import assert from 'node:assert/strict';
import { computeVotes } from '../entity/state.ts';
import { createDamageError, DomainError, StorageError, toMessage } from '../errors.ts';
import type { Shard } from '../ids.ts';
import { limits } from '../limits.ts';
import type {
  Backlog,
  BacklogSize,
  Clock,
  EngineMeters,
  FlushReceipt,
  FlushSink,
  FlushSource,
} from '../ports.ts';
import { alignPause } from '../tools/align-pause.ts';
import { startRepeating } from '../tools/start-repeating.ts';
import { describeFailure, isFull, takeRound, toReason } from './round.ts';

export interface FlusherParts {
  readonly hot: FlushSource;
  readonly ledger: FlushSink;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly intervalMs: number;
  /** The shards that this node flushes, `null` for all. Other nodes flush the rest; overlap is harmless. */
  readonly listShards: () => readonly Shard[] | null;
  /** Called after each flush, so that the engine can update `flushedVotes` of live actors. */
  readonly onFlushed: (receipt: FlushReceipt) => void;
  /** Delivers open adjustments; resolves to how many were acknowledged. */
  readonly deliver: () => Promise<number>;
  /** Reconciles the stores: the ledger may have issued a generation that was never published. */
  readonly reconcile: () => Promise<void>;
  readonly onFlushFailed?: (error: unknown) => void;
}

/** A caller of `waitForFlush` that waits for a shard's votes. */
interface FlushRequest {
  readonly shard: Shard;
  resolve(): void;
}

type FlusherMode = 'waiting' | 'working' | 'backing off' | 'stopped';

interface FlusherState extends FlusherParts {
  backlogSize: BacklogSize;
  /** Each stays here until it is served or out of time. */
  readonly flushRequests: Set<FlushRequest>;
  /** Shards to flush soon; nothing waits for them. */
  earlyShards: Set<Shard>;
  /** The current wait is at most `limits.flushEarlyMs`, so an early flush need not shorten it. */
  isEarly: boolean;
  /** Only `setMode` writes it. */
  readonly mode: FlusherMode;
  working: Promise<void>;
  cancelWait: () => void;
  failures: number;
  failure: unknown;
  /** Monotonic ms. The backlog of this node's shards at that time is in the ledger. */
  caughtUpMs: number;
  /** Consecutive looks at the backlog that found nothing to flush. */
  looksAtRest: number;
}

export type Flusher = ReturnType<typeof createFlusher>;

export const createFlusher = (parts: FlusherParts) => {
  const state: FlusherState = {
    ...parts,
    backlogSize: { entities: 0, votes: 0 },
    flushRequests: new Set(),
    earlyShards: new Set(),
    isEarly: false,
    mode: 'stopped',
    working: Promise.resolve(),
    cancelWait: () => {},
    failures: 0,
    failure: null,
    caughtUpMs: parts.clock.monotonicMs(),
    looksAtRest: 0,
  };
  return {
    start: () => {
      setMode(state, 'waiting');
      state.caughtUpMs = state.clock.monotonicMs();
      waitThenWork(state, state.intervalMs);
    },
    /**
     * Resolves when all votes of the shard that were hot before the call are in the ledger. Rejects with
     * `store_unavailable` after `limits.flushWaitMs`, or at once if too many callers wait or it is stopped.
     */
    waitForFlush: (shard: Shard) => requestFlush(state, shard),
    /** Flushes the shard's votes within `limits.flushEarlyMs`, unless stores fail. Costs one look-up. */
    flushEarly: (shard: Shard) => flushEarly(state, shard),
    /** The backlog's last known size, for the limit on outbox votes. */
    getBacklogSize: () => state.backlogSize,
    /** A message for `/readyz`, or `null` if the last rounds succeeded. */
    getLastError: () => (state.failure === null ? null : describeFailure(state.failure)),
    /** The full message of the last error, or `null` if the last rounds succeeded. */
    failure: () => (state.failure === null ? null : toMessage(state.failure)),
    /** Stops, then flushes until the backlog is empty or the monotonic deadline passes. */
    drain: (deadlineMs: number) => drain(state, deadlineMs),
  };
};

const modesAfter: Readonly<Record<FlusherMode, readonly FlusherMode[]>> = {
  waiting: ['working', 'stopped'],
  working: ['waiting', 'backing off', 'stopped'],
  'backing off': ['working', 'stopped'],
  stopped: ['waiting', 'stopped'],
};

/** Changes the mode. Throws on an impossible transition, so at most one `runRounds` is running. */
const setMode = (state: FlusherState, mode: FlusherMode): void => {
  if (!modesAfter[state.mode].includes(mode))
    assert.fail(`a flusher cannot go from ${state.mode} to ${mode}`);
  (state as { mode: FlusherMode }).mode = mode;
};

const waitThenWork = (state: FlusherState, delayMs: number): void => {
  state.cancelWait = state.clock.after(delayMs, () => startRounds(state));
};

const flushEarly = (state: FlusherState, shard: Shard): void => {
  state.earlyShards.add(shard);
  if (state.mode !== 'waiting' || state.isEarly) return;
  state.isEarly = true;
  state.cancelWait();
  waitThenWork(state, Math.min(limits.flushEarlyMs, state.intervalMs));
};

const startRounds = (state: FlusherState): void => {
  state.isEarly = false;
  setMode(state, 'working');
  state.working = work(state).then(
    () => recordSuccess(state),
    (error: unknown) => recordFailure(state, error),
  );
};

/**
 * Looks at the backlog. Runs rounds if something waits or is requested; otherwise only every
 * `limits.looksPerDelivery`-th look delivers what the ledger recorded.
 */
const work = async (state: FlusherState): Promise<void> => {
  const startedMs = state.clock.monotonicMs();
  if (!isWanted(state) && (await isAtRest(state))) {
    state.caughtUpMs = startedMs;
    const isDue = state.mode !== 'stopped' && state.looksAtRest % limits.looksPerDelivery === 0;
    if (!isDue || (await state.deliver()) === 0) state.looksAtRest += 1;
    return;
  }
  state.looksAtRest = 0;
  const report = () => measureBacklog(state).catch(() => reportAge(state));
  const stopReports = startRepeating(state.clock, limits.backlogReportMs, () => void report());
  await runRounds(state)
    .catch((error: unknown) => reconcileIfOutdated(state, error))
    .finally(() => measureBacklog(state))
    .finally(stopReports);
};

const reportAge = ({ meters, backlogSize, clock, caughtUpMs }: FlusherState): void =>
  meters.recordBacklog(backlogSize, clock.monotonicMs() - caughtUpMs);

const isWanted = ({ flushRequests, earlyShards }: FlusherState): boolean =>
  flushRequests.size + earlyShards.size > 0;

const isAtRest = async (state: FlusherState): Promise<boolean> => {
  const size = await state.hot.countBacklog();
  state.backlogSize = size;
  if (size.entities + size.votes > 0) return false;
  state.meters.recordBacklog(size, 0);
  // Meanwhile a caller may have begun to wait for votes that came after the count.
  return state.flushRequests.size === 0;
};

/**
 * Reconciles the stores if a repeated round is `outdated`, too. The ledger refuses a round so when it has
 * issued a newer generation; if the repetition fails, the node that took the generation died before it
 * published it.
 */
const reconcileIfOutdated = async (state: FlusherState, error: unknown): Promise<never> => {
  const isOutdated = error instanceof StorageError && error.reason === 'outdated';
  if (isOutdated && state.failures > 0) await state.reconcile();
  throw error;
};

const recordSuccess = (state: FlusherState): void => {
  state.failures = 0;
  state.failure = null;
  if (state.mode === 'stopped') return;
  setMode(state, 'waiting');
  state.isEarly = isWanted(state);
  if (state.flushRequests.size > 0) waitThenWork(state, 0);
  else if (state.isEarly) waitThenWork(state, Math.min(limits.flushEarlyMs, state.intervalMs));
  else waitThenWork(state, alignPause(state.intervalMs, state.clock.monotonicMs()));
};

const recordFailure = (state: FlusherState, error: unknown): void => {
  state.meters.recordFlushFailure(toReason(error));
  state.failures += 1;
  state.failure = error;
  state.onFlushFailed?.(error);
  if (state.mode === 'stopped') return;
  setMode(state, 'backing off');
  const doubled = state.intervalMs * 2 ** Math.min(state.failures, 8);
  waitThenWork(state, Math.min(limits.flushBackoffMaxMs, doubled));
};

/** Runs rounds until one is not full, flush requests first; then delivers adjustments. */
const runRounds = async (state: FlusherState): Promise<void> => {
  let more = true;
  while (more && state.mode !== 'stopped') {
    await serveFlushRequests(state);
    const startedMs = state.clock.monotonicMs();
    more = isFull(await runRound(state));
    if (!more) state.caughtUpMs = startedMs;
  }
  if (state.mode !== 'stopped') await state.deliver();
};

/**
 * Measures the backlog, also after a failed round, because that is when it grows. Its age is the time since
 * the flusher last caught up: no waiting row is older, and under load the backlog is never empty.
 */
const measureBacklog = async (state: FlusherState): Promise<void> => {
  state.backlogSize = await state.hot.countBacklog();
  const waiting = state.backlogSize.entities + state.backlogSize.votes;
  if (waiting > 0) reportAge(state);
  else state.meters.recordBacklog(state.backlogSize, 0);
};

/** Flushes what one read of the backlog returns, totals and votes, and resolves to that. */
const runRound = async (state: FlusherState, shards = state.listShards()): Promise<Backlog> => {
  const limit = { entities: limits.flushEntitiesMax, votes: limits.flushVotesMax };
  const backlog = await state.hot.peek(shards === null ? limit : { ...limit, shards });
  await flushBacklog(state, takeRound(backlog));
  return backlog;
};

/** Serves the flush requests known now. Requests that come meanwhile get rounds of their own. */
const serveFlushRequests = async (state: FlusherState): Promise<void> => {
  if (!isWanted(state)) return;
  const requests = [...state.flushRequests];
  const shards = [...new Set([...requests.map((request) => request.shard), ...state.earlyShards])];
  state.earlyShards.clear();
  // The rounds include totals: votes and totals in SQL must agree in case the hot store loses its data.
  // A read that is not full contains every waiting vote, so it serves all earlier flush requests.
  let full = true;
  for (let step = 0; full && step < limits.flushRequestRoundsMax; step++)
    full = isFull(await runRound(state, shards));
  if (!full) for (const request of requests) request.resolve();
};

const isEmpty = ({ entities, votes }: Backlog): boolean => entities.length + votes.length === 0;

const flushBacklog = async (state: FlusherState, backlog: Backlog): Promise<void> => {
  if (isEmpty(backlog)) return;
  const startedMs = state.clock.monotonicMs();
  await flushOrHalve(state, backlog);
  const receipt: FlushReceipt = {
    entities: backlog.entities.map(({ ref, generation, state: hot }) => ({
      ref,
      generation,
      version: hot.version,
      flushedVotes: computeVotes(hot),
    })),
    votes: backlog.votes.map(({ itag, ref }) => ({ itag, shard: ref.shard })),
  };
  await state.hot.markFlushed(receipt);
  state.onFlushed(receipt);
  state.meters.recordFlush(
    backlog.entities.length,
    backlog.votes.length,
    state.clock.monotonicMs() - startedMs,
  );
};

/** Flushes a round; if a row is refused, its halves, down to that row, which becomes a dead letter. */
const flushOrHalve = async (state: FlusherState, whole: Backlog): Promise<void> => {
  const stack: Backlog[] = [whole];
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    try {
      await state.ledger.flush(part);
    } catch (error) {
      if (!(error instanceof StorageError) || error.reason !== 'row') throw error;
      if (part.entities.length + part.votes.length > 1) stack.push(...splitInHalves(part));
      else await writeDeadLetter(state, part, error.message);
    }
  }
};

const splitInHalves = ({ entities, votes }: Backlog): readonly [Backlog, Backlog] => {
  if (entities.length > 0 && votes.length > 0)
    return [
      { entities, votes: [] },
      { entities: [], votes },
    ];
  const entityCut = entities.length >> 1;
  const voteCut = votes.length >> 1;
  return [
    { entities: entities.slice(0, entityCut), votes: votes.slice(0, voteCut) },
    { entities: entities.slice(entityCut), votes: votes.slice(voteCut) },
  ];
};

const writeDeadLetter = async (state: FlusherState, part: Backlog, reason: string): Promise<void> => {
  const entity = part.entities[0];
  const vote = part.votes[0];
  await state.ledger.writeDeadLetter(
    entity === undefined ? { vote: vote as NonNullable<typeof vote>, reason } : { entity, reason },
  );
  state.meters.recordDeadLetters(1);
};

const requestFlush = async (state: FlusherState, shard: Shard): Promise<void> => {
  const open = await state.hot.peek({ entities: 0, votes: 1, shards: [shard] });
  if (open.votes.length === 0) return;
  await new Promise<void>((resolve, reject) => {
    const cancel = state.clock.after(limits.flushWaitMs, () => {
      state.flushRequests.delete(request);
      reject(createFlushLateError());
    });
    const request: FlushRequest = {
      shard,
      resolve: () => {
        cancel();
        state.flushRequests.delete(request);
        resolve();
      },
    };
    if (state.flushRequests.size >= limits.flushRequestsMax || state.mode === 'stopped') {
      cancel();
      return reject(createFlushLateError());
    }
    state.flushRequests.add(request);
    if (state.mode === 'waiting') {
      state.cancelWait();
      startRounds(state);
    }
  });
};

const createFlushLateError = (): DomainError =>
  new DomainError(
    'store_unavailable',
    'The newest votes are not in the database yet, and this answer needs them. Try again.',
    { outcome: 'not_applied' },
    1,
  );

/** Stops, then runs rounds until the backlog is empty, one fails or the deadline passes during one. */
const drain = async (state: FlusherState, deadlineMs: number): Promise<void> => {
  setMode(state, 'stopped');
  state.cancelWait();
  const leftMs = deadlineMs - state.clock.monotonicMs();
  if (leftMs <= 0) return;
  await new Promise<void>((resolve) => {
    const cancel = state.clock.after(leftMs, resolve);
    drainRounds(state, deadlineMs)
      .catch((error: unknown) => {
        state.failure = error;
      })
      .finally(() => {
        cancel();
        resolve();
      });
  });
};

const drainRounds = async (state: FlusherState, deadlineMs: number): Promise<void> => {
  await state.working;
  while (state.clock.monotonicMs() < deadlineMs) {
    if (state.listShards() !== null) {
      // Stops at the first round that is not full. Other nodes keep writing, and flush what comes later.
      if (!isFull(await runRound(state))) return;
      continue;
    }
    state.backlogSize = await state.hot.countBacklog();
    if (state.backlogSize.entities + state.backlogSize.votes === 0) return;
    if (isEmpty(await runRound(state))) throw createDamageError('flush', 'entries of the backlog');
  }
};

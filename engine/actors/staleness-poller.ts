/**
 * Freshness: how a node learns what other nodes wrote, so that an acknowledged change is visible everywhere
 * within a second (I9).
 *
 * Twice a second it asks the hot store, in one call, where all shards stand that it holds actors of. A shard
 * whose generation or version moved by somebody else's hand loses its actors; the next reader loads them.
 * Nothing is ever decided on a version read here, and discarding loses nothing. A process that did not run
 * for a while (it was stopped, or its machine) missed its looks: then all is in doubt, and reads wait until a
 * question asked after that is answered. Bound: one question at a time, `shardCount` shards. Off where a node
 * is alone with its stores. Started and stopped by create.ts.
 */

import type { OutputGate } from '../commit/output-gate.ts';
import { hasMoved } from '../entity/history.ts';
import type { ShardVersion } from '../entity/items.ts';
import type { Shard } from '../ids.ts';
import { limits } from '../limits.ts';
import type { EngineMeters } from '../meters.ts';
import type { Clock, HotReader } from '../ports.ts';
import type { Registry } from './registry.ts';

export interface StalenessPollerParts {
  readonly hot: Pick<HotReader, 'readVersions'>;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly outputGate: Pick<OutputGate, 'getVersion' | 'observeVersion'>;
  readonly registry: Pick<Registry, 'listShards' | 'discardShard' | 'discardUnflushed'>;
}

export interface StalenessPoller {
  start(): void;
  stop(): void;
  /** What is in memory may be old: asks the store at once. Does nothing unless started. */
  suspectStale(): void;
  /** Resolves when nothing is in doubt any more, or after `limits.recheckMsMax`; `null` while nothing is. */
  readonly rechecking: Promise<void> | null;
}

interface Recheck {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly cancelTimer: () => void;
}

interface PollerState extends StalenessPollerParts {
  stopped: boolean;
  cancel: () => void;
  recheck: Recheck | null;
  /** Numbers the questions: the answer to an earlier one says nothing. */
  poll: number;
}

const noExceptions: ReadonlySet<never> = new Set();

export const createStalenessPoller = (parts: StalenessPollerParts): StalenessPoller => {
  const state: PollerState = { ...parts, stopped: true, cancel: () => {}, recheck: null, poll: 0 };
  return {
    start: () => {
      state.stopped = false;
      schedulePoll(state, limits.stalenessPollMs);
    },
    stop: () => {
      state.stopped = true;
      state.cancel();
      finishRecheck(state);
    },
    suspectStale: () => startRecheck(state),
    get rechecking() {
      return state.recheck?.promise ?? null;
    },
  };
};

const startRecheck = (state: PollerState): void => {
  if (state.stopped) return;
  cancelRecheckTimer(state);
  const { promise, resolve } = state.recheck ?? Promise.withResolvers<void>();
  const cancelTimer = state.clock.after(limits.recheckMsMax, () => finishRecheck(state));
  state.recheck = { promise, resolve, cancelTimer };
  state.cancel();
  poll(state);
};

const cancelRecheckTimer = ({ recheck }: PollerState): void => recheck?.cancelTimer();

const finishRecheck = (state: PollerState): void => {
  cancelRecheckTimer(state);
  state.recheck?.resolve();
  state.recheck = null;
};

const schedulePoll = (state: PollerState, delayMs: number): void => {
  state.cancel = state.clock.after(delayMs, () => poll(state));
};

const poll = (state: PollerState): void => {
  const askedMs = state.clock.monotonicMs();
  const question = ++state.poll;
  const isOver = (): boolean => state.stopped || question !== state.poll;
  const shards = state.registry.listShards();
  const known = shards.map((shard) => state.outputGate.getVersion(shard));
  const asked = shards.length === 0 ? Promise.resolve([]) : state.hot.readVersions(shards);
  const again = (): void => {
    const intervalMs = state.recheck === null ? limits.stalenessPollMs : limits.doubtPollMs;
    schedulePoll(state, Math.max(0, intervalMs - (state.clock.monotonicMs() - askedMs)));
  };
  asked.then(
    (versions) => {
      if (isOver()) return;
      discardMoved(state, { shards, known, versions });
      finishRecheck(state);
      again();
    },
    () => {
      // The store is away: the gate tells of that, and what is not known to have moved stays readable.
      state.meters.recordVersionPoll(shards.length, 0);
      if (!isOver()) again();
    },
  );
};

interface PolledVersions {
  readonly shards: readonly Shard[];
  readonly known: readonly ShardVersion[];
  readonly versions: readonly ShardVersion[];
}

const discardMoved = (state: PollerState, { shards, known, versions }: PolledVersions): void => {
  let moved = 0;
  for (const [index, shard] of shards.entries()) {
    const seen = { known: known[index] as ShardVersion, now: versions[index] as ShardVersion };
    if (!state.outputGate.observeVersion(shard, seen) && !isUnsure(state, shard, seen.now)) continue;
    moved += 1;
    state.registry.discardShard(shard, noExceptions);
  }
  state.registry.discardUnflushed();
  state.meters.recordVersionPoll(shards.length, moved);
};

/** In doubt the reply to a batch that is out comes too late to tell: what may have moved is loaded again. */
const isUnsure = ({ recheck, outputGate }: PollerState, shard: Shard, now: ShardVersion): boolean =>
  recheck !== null && hasMoved(now, outputGate.getVersion(shard));

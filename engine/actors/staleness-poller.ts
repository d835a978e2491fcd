/**
 * The staleness poller: finds out which shards other nodes changed, so that an acknowledged change is visible
 * on every node within a second (I9).
 *
 * About twice a second it reads, in one call, the versions of all shards of which this node has actors. If
 * another node changed a shard's generation or version, it discards the shard's actors; the next reader loads
 * them. No decision uses these versions, and discarding loses nothing. A process that did not run for a while
 * (it or its machine was stopped) missed its polls: then reads wait until a poll started after that is
 * answered. Bound: one poll at a time, `shardCount` shards. Off on a node that shares its stores with no
 * other. Started and stopped by `create.ts`.
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
  /** Called at each interval, also while a poll has no answer: this process runs. */
  readonly onPoll?: (() => void) | undefined;
}

export interface StalenessPoller {
  start(): void;
  stop(): void;
  /** Cached states may be stale: polls at once. Does nothing unless started. */
  suspectStale(): void;
  /** Resolves when cached states are valid again or `limits.recheckMsMax` has passed; `null` if they are. */
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
  polling: boolean;
  /** The number of the newest poll: answers to earlier polls are ignored. */
  poll: number;
}

const noExceptions: ReadonlySet<never> = new Set();

export const createStalenessPoller = (parts: StalenessPollerParts): StalenessPoller => {
  const state: PollerState = {
    ...parts,
    stopped: true,
    cancel: () => {},
    recheck: null,
    polling: false,
    poll: 0,
  };
  return {
    start: () => {
      state.stopped = false;
      scheduleTick(state);
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
  poll(state);
};

const cancelRecheckTimer = ({ recheck }: PollerState): void => recheck?.cancelTimer();

const finishRecheck = (state: PollerState): void => {
  cancelRecheckTimer(state);
  state.recheck?.resolve();
  state.recheck = null;
};

const scheduleTick = (state: PollerState): void => {
  state.cancel = state.clock.after(limits.stalenessPollMs, () => {
    scheduleTick(state);
    state.onPoll?.();
    if (!state.polling) poll(state);
  });
};

const poll = (state: PollerState): void => {
  const pollNumber = ++state.poll;
  state.polling = true;
  const isOver = (): boolean => state.stopped || pollNumber !== state.poll;
  const shards = state.registry.listShards();
  const known = shards.map((shard) => state.outputGate.getVersion(shard));
  const reading = shards.length === 0 ? Promise.resolve([]) : state.hot.readVersions(shards);
  reading.then(
    (versions) => {
      if (isOver()) return;
      discardMoved(state, { shards, known, versions });
      finishRecheck(state);
      state.polling = false;
    },
    () => {
      // The store does not answer: the output gate reports that, and cached states stay readable.
      state.meters.recordVersionPoll(shards.length, 0);
      if (isOver()) return;
      state.polling = false;
      if (state.recheck !== null) repeatPoll(state, pollNumber);
    },
  );
};

/** During a recheck readers wait: polls again after a short pause, unless another poll has begun. */
const repeatPoll = (state: PollerState, pollNumber: number): void => {
  state.clock.after(limits.recheckPollMs, () => {
    if (!state.stopped && state.recheck !== null && state.poll === pollNumber) poll(state);
  });
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
    if (!state.outputGate.observeVersion(shard, seen) && !mayHaveMoved(state, shard, seen.now)) continue;
    moved += 1;
    state.registry.discardShard(shard, noExceptions);
  }
  state.registry.discardUnflushed();
  state.meters.recordVersionPoll(shards.length, moved);
};

/** During a recheck reads cannot wait for the reply to a batch in flight: discards what may have moved. */
const mayHaveMoved = ({ recheck, outputGate }: PollerState, shard: Shard, now: ShardVersion): boolean =>
  recheck !== null && hasMoved(now, outputGate.getVersion(shard));

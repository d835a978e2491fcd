/**
 * The staleness poller: finds out which entities other nodes changed, so that an acknowledged change is
 * visible on every node within a second (I9).
 *
 * About twice a second it reads the versions of all shards that this node has actors in, and for the shards
 * that moved which entities changed since the last poll. It marks those stale whose state is older than their
 * change: the next reader loads them, while turns need no state. Where the store does not know what changed,
 * it discards the shard's actors. No decision uses these versions, and discarding loses nothing. A process
 * that did not run for a while (it or its machine was stopped) missed its polls: then reads wait until a poll
 * started after that is answered. For the same reason a node may rest: where nothing was read for some
 * seconds and nothing is watched, it polls no more until the next reader, who waits for one answer. Bound:
 * one poll at a time, `shardsTotal` shards. Off on a node that shares its stores with no other. Started and
 * stopped by `create.ts`.
 */

import type { OutputGate } from '../commit/output-gate.ts';
import { hasFallenBack, hasMoved } from '../entity/history.ts';
import type { ShardVersion } from '../entity/items.ts';
import type { Shard } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Clock, EngineMeters, HotReader, ShardChanges } from '../ports.ts';
import type { Registry } from './registry.ts';

export interface StalenessPollerParts {
  readonly hot: Pick<HotReader, 'readVersions' | 'readChanges'>;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly outputGate: Pick<OutputGate, 'getVersion' | 'observeVersion'>;
  readonly registry: Pick<
    Registry,
    'listShards' | 'discardShard' | 'markStale' | 'markUnflushedStale' | 'watches'
  >;
  /** Called at each interval, also while a poll has no answer, unless the poller rests: this process runs. */
  readonly onPoll?: (() => void) | undefined;
}

interface Recheck {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly cancelTimer: () => void;
}

interface PollerState extends StalenessPollerParts {
  stopped: boolean;
  /** Intervals since the last read. */
  unusedPolls: number;
  /** No timer runs: the next read polls. */
  resting: boolean;
  /** The poller has rested, and no poll was answered since. */
  rested: boolean;
  cancel: () => void;
  recheck: Recheck | null;
  polling: boolean;
  /**
   * The version of each shard up to which its actors are current or marked stale. Before the first poll of a
   * shard that is the version of its last reply.
   */
  readonly seen: Map<Shard, ShardVersion>;
  /** The number of the newest poll: answers to earlier polls are ignored. */
  poll: number;
}

const noExceptions: ReadonlySet<never> = new Set();

export const createStalenessPoller = (parts: StalenessPollerParts) => {
  const state: PollerState = {
    ...parts,
    stopped: true,
    unusedPolls: 0,
    resting: false,
    rested: false,
    cancel: () => {},
    recheck: null,
    polling: false,
    seen: new Map(),
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
    /** Cached states may be stale: polls at once. Does nothing unless started. */
    suspectStale: () => startRecheck(state),
    /** Whether the next poll finds what other nodes change in this shard. */
    covers: (shard: Shard) => !state.stopped && state.seen.has(shard),
    /**
     * Call before each read of cached states. Resolves when they are valid again or `limits.recheckMsMax` has
     * passed; `null` if they are.
     */
    awaitRecheck: () => {
      state.unusedPolls = 0;
      if (state.resting) startRecheck(state);
      return state.recheck?.promise ?? null;
    },
  };
};
export type StalenessPoller = ReturnType<typeof createStalenessPoller>;

const startRecheck = (state: PollerState): void => {
  if (state.stopped) return;
  if (state.resting) scheduleTick(state);
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

const isUnused = ({ unusedPolls, recheck, registry }: PollerState): boolean =>
  unusedPolls > limits.stalenessPollsUnused && recheck === null && registry.watches.isEmpty();

const scheduleTick = (state: PollerState): void => {
  state.resting = false;
  state.cancel = state.clock.after(limits.stalenessPollMs, () => {
    state.unusedPolls += 1;
    if (isUnused(state)) {
      beginRest(state);
      return;
    }
    scheduleTick(state);
    state.onPoll?.();
    if (!state.polling) poll(state);
  });
};

/** Begins a rest. An open poll is abandoned, because its answer may be older than the rest. */
const beginRest = (state: PollerState): void => {
  state.resting = true;
  state.rested = true;
  state.poll += 1;
  state.polling = false;
};

const poll = (state: PollerState): void => {
  const pollNumber = ++state.poll;
  state.polling = true;
  const isOver = (): boolean => state.stopped || pollNumber !== state.poll;
  const shards = state.registry.listShards();
  pollShards(state, shards, isOver).then(
    () => {
      if (isOver()) return;
      state.registry.markUnflushedStale(state.rested);
      state.rested = false;
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

const pollShards = async (state: PollerState, shards: readonly Shard[], isOver: () => boolean) => {
  if (shards.length === 0) return;
  const known = shards.map((shard) => state.outputGate.getVersion(shard));
  const versions = await state.hot.readVersions(shards);
  if (isOver()) return;
  const moved: (ShardVersion & { readonly shard: Shard })[] = [];
  let movedByOthers = 0;
  for (const [index, shard] of shards.entries()) {
    const now = versions[index] as ShardVersion;
    const before = known[index] as ShardVersion;
    if (state.outputGate.observeVersion(shard, { known: before, now })) movedByOthers += 1;
    const seen = state.seen.get(shard) ?? before;
    if (hasFallenBack(now, before) || hasFallenBack(now, seen) || now.generation !== seen.generation)
      state.registry.discardShard(shard, noExceptions);
    else if (hasMoved(now, seen)) {
      moved.push({ shard, ...seen });
      // Stays at the old version until the changes since then are known; the gate has the new one already.
      state.seen.set(shard, seen);
      continue;
    }
    state.seen.set(shard, now);
  }
  const changes = moved.length === 0 ? [] : await state.hot.readChanges(moved);
  if (isOver()) return;
  for (const [index, { shard }] of moved.entries()) markChanged(state, shard, changes[index] as ShardChanges);
  state.meters.recordVersionPoll(shards.length, movedByOthers);
};

const markChanged = ({ registry, seen }: PollerState, shard: Shard, { now, changed }: ShardChanges): void => {
  if (changed === null) registry.discardShard(shard, noExceptions);
  else for (const [address, version] of changed) registry.markStale(address, version);
  seen.set(shard, now);
};

/** Polls again after a short pause, unless another poll has begun: readers wait for the recheck. */
const repeatPoll = (state: PollerState, pollNumber: number): void => {
  state.clock.after(limits.recheckPollMs, () => {
    if (!state.stopped && state.recheck !== null && state.poll === pollNumber) poll(state);
  });
};

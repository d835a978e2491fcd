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

import { hasMoved } from './entity/history.ts';
import type { ShardVersion } from './entity/items.ts';
import type { Gate } from './gate.ts';
import type { Shard } from './ids.ts';
import { limits } from './limits.ts';
import type { EngineMeters } from './meters.ts';
import type { Clock, HotReader } from './ports.ts';
import type { Registry } from './registry.ts';

export interface FreshnessParts {
  readonly hot: Pick<HotReader, 'versions'>;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly gate: Pick<Gate, 'versionOf' | 'observe'>;
  readonly registry: Pick<Registry, 'shards' | 'discardShard' | 'discardUnflushed'>;
}

export interface Freshness {
  start(): void;
  stop(): void;
  /** What is in memory may be old: asks the store at once. Does nothing unless started. */
  doubt(): void;
  /** Resolves when nothing is in doubt any more, or after `limits.doubtMsMax`; `null` while nothing is. */
  readonly inDoubt: Promise<void> | null;
}

interface Doubt {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly cancelTimer: () => void;
}

interface State extends FreshnessParts {
  stopped: boolean;
  cancel: () => void;
  doubt: Doubt | null;
  /** Numbers the questions: the answer to an earlier one says nothing. */
  question: number;
}

const nobody: ReadonlySet<never> = new Set();

export const createFreshness = (parts: FreshnessParts): Freshness => {
  const state: State = { ...parts, stopped: true, cancel: () => {}, doubt: null, question: 0 };
  return {
    start: () => {
      state.stopped = false;
      askLater(state, limits.freshnessPollMs);
    },
    stop: () => {
      state.stopped = true;
      state.cancel();
      endDoubt(state);
    },
    doubt: () => beginDoubt(state),
    get inDoubt() {
      return state.doubt?.promise ?? null;
    },
  };
};

const beginDoubt = (state: State): void => {
  if (state.stopped) return;
  endDoubtTimer(state);
  const { promise, resolve } = state.doubt ?? Promise.withResolvers<void>();
  const cancelTimer = state.clock.after(limits.doubtMsMax, () => endDoubt(state));
  state.doubt = { promise, resolve, cancelTimer };
  state.cancel();
  ask(state);
};

const endDoubtTimer = ({ doubt }: State): void => doubt?.cancelTimer();

const endDoubt = (state: State): void => {
  endDoubtTimer(state);
  state.doubt?.resolve();
  state.doubt = null;
};

const askLater = (state: State, delayMs: number): void => {
  state.cancel = state.clock.after(delayMs, () => ask(state));
};

const ask = (state: State): void => {
  const askedMs = state.clock.monotonicMs();
  const question = ++state.question;
  const isOver = (): boolean => state.stopped || question !== state.question;
  const shards = state.registry.shards();
  const known = shards.map((shard) => state.gate.versionOf(shard));
  const asked = shards.length === 0 ? Promise.resolve([]) : state.hot.versions(shards);
  const again = (): void => {
    const intervalMs = state.doubt === null ? limits.freshnessPollMs : limits.doubtPollMs;
    askLater(state, Math.max(0, intervalMs - (state.clock.monotonicMs() - askedMs)));
  };
  asked.then(
    (versions) => {
      if (isOver()) return;
      compare(state, { shards, known, versions });
      endDoubt(state);
      again();
    },
    () => {
      // The store is away: the gate tells of that, and what is not known to have moved stays readable.
      state.meters.refreshed(shards.length, 0);
      if (!isOver()) again();
    },
  );
};

interface Told {
  readonly shards: readonly Shard[];
  readonly known: readonly ShardVersion[];
  readonly versions: readonly ShardVersion[];
}

const compare = (state: State, { shards, known, versions }: Told): void => {
  let moved = 0;
  for (const [index, shard] of shards.entries()) {
    const seen = { known: known[index] as ShardVersion, now: versions[index] as ShardVersion };
    if (!state.gate.observe(shard, seen) && !isUnsure(state, shard, seen.now)) continue;
    moved += 1;
    state.registry.discardShard(shard, nobody);
  }
  state.registry.discardUnflushed();
  state.meters.refreshed(shards.length, moved);
};

/** In doubt the reply to a batch that is out comes too late to tell: what may have moved is loaded again. */
const isUnsure = ({ doubt, gate }: State, shard: Shard, now: ShardVersion): boolean =>
  doubt !== null && hasMoved(now, gate.versionOf(shard));

/**
 * Freshness: how a node learns what other nodes wrote, so that an acknowledged change is visible everywhere
 * within a second (I9).
 *
 * Twice a second it asks the hot store, in one call, where all shards stand that it holds actors of. A shard
 * whose generation or version moved by somebody else's hand loses its actors; the next reader loads them.
 * Nothing is ever decided on a version read here, and discarding loses nothing. Bound: one question at a
 * time, `shardCount` shards. Off where a node is alone with its stores. Started and stopped by create.ts.
 */

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
}

interface State extends FreshnessParts {
  stopped: boolean;
  cancel: () => void;
}

const nobody: ReadonlySet<never> = new Set();

export const createFreshness = (parts: FreshnessParts): Freshness => {
  const state: State = { ...parts, stopped: true, cancel: () => {} };
  return {
    start: () => {
      state.stopped = false;
      askLater(state, limits.freshnessPollMs);
    },
    stop: () => {
      state.stopped = true;
      state.cancel();
    },
  };
};

const askLater = (state: State, delayMs: number): void => {
  state.cancel = state.clock.after(delayMs, () => ask(state));
};

const ask = (state: State): void => {
  const askedMs = state.clock.monotonicMs();
  const shards = state.registry.shards();
  const known = shards.map((shard) => state.gate.versionOf(shard));
  const asked = shards.length === 0 ? Promise.resolve([]) : state.hot.versions(shards);
  const again = (): void => {
    if (state.stopped) return;
    askLater(state, Math.max(0, limits.freshnessPollMs - (state.clock.monotonicMs() - askedMs)));
  };
  asked.then(
    (versions) => {
      if (!state.stopped) compare(state, { shards, known, versions });
      again();
    },
    () => {
      // The store is away: the gate tells of that, and what is not known to have moved stays readable.
      state.meters.refreshed(shards.length, 0);
      again();
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
    if (!state.gate.observe(shard, seen)) continue;
    moved += 1;
    state.registry.discardShard(shard, nobody);
  }
  state.registry.discardUnflushed();
  state.meters.refreshed(shards.length, moved);
};

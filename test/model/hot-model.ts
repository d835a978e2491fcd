/**
 * The hot store as plain maps: the reference for every adapter, and the store of the engine's tests.
 *
 * Has no rules of its own: `applyItem` decides. Simple enough to be checked by reading: one object per shard,
 * every look-up a filter. All state is public; `hooks` let a test fail, delay or lose a call.
 */
import assert from 'node:assert/strict';
import { applyItem, type Effect, type Slot } from '../../engine/entity/apply.ts';
import { extendChainHash } from '../../engine/entity/history.ts';
import type {
  Batch,
  BatchReply,
  CommitRules,
  Decision,
  Item,
  ShardPosition,
} from '../../engine/entity/items.ts';
import { type HotState, type LazyState, toLazyState } from '../../engine/entity/state.ts';
import { findHoldingSinceMs, type LastVoteFlag } from '../../engine/entity/votes.ts';
import { StorageError } from '../../engine/errors.ts';
import type { EntityAddress, EntityRef, Incarnation, Shard } from '../../engine/ids.ts';
import { computeShard, parseEntityRef, shardsTotal, toAddress, toShard } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type {
  Backlog,
  FlushReceipt,
  HotStore,
  LoadReply,
  LoadRequest,
  OutboxVote,
} from '../../engine/ports.ts';
import { listChanges, type ModelChange, recordChanges } from './hot-changes.ts';
import { createPartsReaders, lookUpParts, type ModelParts as Parts, runPartsEffect } from './hot-parts.ts';
import { takeFitting } from './take-fitting.ts';

interface ModelVote {
  readonly listing: string;
  readonly user: string;
  readonly atMs: number;
  flag: LastVoteFlag;
}
interface ModelProducer {
  sequence: number;
  decisions: readonly Decision[];
  seenMs: number;
}
export interface ModelShard {
  generation: number;
  version: number;
  chainHash: number;
  readonly producers: Map<string, ModelProducer>;
  readonly slots: Map<EntityAddress, Slot>;
  /** The version at which each dirty entity became dirty, or was last flushed while it moved on. */
  readonly dirty: Map<EntityAddress, number>;
  votes: ModelVote[];
  /** Visitors by listing. */
  readonly visitors: Map<string, Set<string>>;
  readonly parts: Parts;
  readonly outbox: Map<string, OutboxVote>;
  changes: readonly ModelChange[];
}

/** Called around every call; a throwing hook rejects it. After `beforeCommit` throws nothing changed. */
export interface ModelHooks {
  beforeCommit?: (batches: readonly Batch[]) => Promise<void> | void;
  afterCommit?: (batches: readonly Batch[]) => Promise<void> | void;
  beforeOther?: (verb: string) => Promise<void> | void;
}

export interface ModelOptions {
  readonly clock: () => number;
  /** The longest wait of any window; last votes are kept that long and a bucket more. */
  readonly voteWaitMaxMs?: number;
  /** Tests may remove confirmed work from it. Default: false. */
  readonly mayLoseTail?: boolean;
}

export interface HotModel extends HotStore {
  readonly shards: readonly ModelShard[];
  hooks: ModelHooks;
}

const producerIdleMs = 7 * 86_400_000;
const listingOf = (address: EntityAddress, incarnation: Incarnation): string => `${address} ${incarnation}`;
const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

const emptyShard = (): ModelShard => ({
  generation: 0,
  version: 0,
  chainHash: 0,
  producers: new Map(),
  slots: new Map(),
  dirty: new Map(),
  votes: [],
  visitors: new Map(),
  parts: new Map(),
  outbox: new Map(),
  changes: [],
});

const runEffect = (shard: ModelShard, target: EntityRef, effect: Effect): void => {
  const listing = listingOf(target.address, target.incarnation);
  if (effect.kind === 'visitor') {
    const seen = shard.visitors.get(listing) ?? new Set();
    shard.visitors.set(listing, seen.add(effect.visitor));
  } else if (effect.kind === 'mark') {
    const { user, atMs, flag } = effect;
    const same = (vote: ModelVote) => vote.listing === listing && vote.user === user && vote.atMs === atMs;
    const known = shard.votes.find(same);
    if (known) known.flag = flag;
    else shard.votes.push({ listing, user, atMs, flag });
  } else if (effect.kind === 'outbox') {
    const { user, upvote, atMs, itags, origin, source } = effect.vote;
    for (const [voteNumber, itag] of itags.slice(0, effect.count).entries()) {
      const vote = { itag, ref: target, user, upvote, atMs, voteNumber };
      const from = { ...(origin !== undefined && { origin }), ...(source !== undefined && { source }) };
      shard.outbox.set(itag, { ...vote, ...from });
    }
  } else if (effect.kind === 'bury') {
    const deleted = listingOf(target.address, effect.incarnation);
    shard.visitors.delete(deleted);
    shard.parts.delete(deleted);
    shard.dirty.delete(target.address);
  } else runPartsEffect(shard.parts, listing, effect);
};

const runItem = (
  shard: ModelShard,
  item: Item,
  context: { nowMs: number; rules: CommitRules; before: number },
) => {
  const { address, incarnation } = item.target;
  const listing = listingOf(address, incarnation);
  const slot = shard.slots.get(address) ?? null;
  const outcome = applyItem(item, slot, {
    nowMs: context.nowMs,
    rules: context.rules,
    generation: shard.generation,
    shardVersion: context.before,
    version: context.before + 1,
    votes: (user, fromMs, toMs) =>
      shard.votes.filter(
        (vote) => vote.listing === listing && vote.user === user && vote.atMs >= fromMs && vote.atMs <= toMs,
      ),
    visited: (visitor) => shard.visitors.get(listing)?.has(visitor) ?? false,
    hasBatch: ({ producer, sequence }) => (shard.producers.get(producer)?.sequence ?? 0) >= sequence,
    ...lookUpParts(shard.parts, listing),
  });
  for (const effect of outcome.effects) runEffect(shard, item.target, effect);
  if (outcome.slot === slot || outcome.slot === null) return outcome.decision;
  shard.slots.set(address, outcome.slot);
  shard.version = context.before + 1;
  const isInit = item.kind === 'init';
  if (outcome.slot.state && !isInit && !shard.dirty.has(address)) shard.dirty.set(address, shard.version);
  return outcome.decision;
};

/** One state per item: that of the newest listing in the batch at its address; `null` if it has none. */
const listStates = (shard: ModelShard, batch: Batch): readonly (LazyState | null)[] => {
  const newest = new Map<EntityAddress, Incarnation>();
  for (const { target } of batch.items) {
    const known = newest.get(target.address);
    if (known === undefined || known < target.incarnation) newest.set(target.address, target.incarnation);
  }
  return batch.items.map(({ target: { address } }) => {
    const slot = shard.slots.get(address);
    return slot?.state && slot.incarnation === newest.get(address) ? toLazyState(slot.state) : null;
  });
};

const runBatch = (
  shard: ModelShard,
  batch: Batch,
  context: { nowMs: number; rules: CommitRules },
): BatchReply => {
  const producer = shard.producers.get(batch.producer);
  const last = producer?.sequence ?? 0;
  const reply = (outcome: BatchReply['outcome'], lastSequence: number, made: BatchReply['decisions']) => ({
    outcome,
    lastSequence,
    decisions: made,
    version: shard.version,
    chainHash: shard.chainHash,
    generation: shard.generation,
    states: listStates(shard, batch),
  });
  if (shard.generation === 0) return reply('uninitialised', last, null);
  if (batch.sequence <= last) {
    return reply('duplicate', last, batch.sequence === last ? (producer?.decisions ?? null) : null);
  }
  if (batch.sequence !== last + 1) return reply('gap', last, null);
  const before = shard.version;
  const slots = new Map(shard.slots);
  const decisions = batch.items.map((item) => runItem(shard, item, { ...context, before }));
  if (shard.version !== before) {
    shard.chainHash = extendChainHash(shard.chainHash, batch);
    recordChanges(shard, slots, batch);
  }
  shard.producers.set(batch.producer, { sequence: batch.sequence, decisions, seenMs: context.nowMs });
  return reply('applied', batch.sequence, decisions);
};

const loadOne = (
  shards: readonly ModelShard[],
  request: LoadRequest,
  window: { fromMs: number; toMs: number },
) => {
  const address = toAddress(request.kind, request.id);
  const number = computeShard(address);
  const shard = shards[number] as ModelShard;
  const { generation, slots } = shard;
  const slot = slots.get(address);
  if (slot === undefined) return { outcome: 'absent', generation } as const;
  const { incarnation, state } = slot;
  if (state === null) return { outcome: 'forgotten', incarnation, generation } as const;
  const votes = shard.votes.filter(
    (vote) =>
      vote.listing === listingOf(address, incarnation) &&
      vote.user === request.voter &&
      vote.atMs >= window.fromMs &&
      vote.atMs <= window.toMs,
  );
  const votedAtMs = findHoldingSinceMs(votes, state.releasedBeforeMs);
  const ref = parseEntityRef(address, incarnation, number);
  return { outcome: 'found', ref, state, generation, votedAtMs } as const;
};

const peekShard = (shard: ModelShard, number: Shard): Backlog => {
  const dirty = [...shard.dirty].sort((left, right) => left[1] - right[1] || byText(left[0], right[0]));
  return {
    entities: dirty.map(([address]) => {
      const { incarnation, state } = shard.slots.get(address) as Slot & { state: HotState };
      return { ref: parseEntityRef(address, incarnation, number), generation: shard.generation, state };
    }),
    votes: [...shard.outbox.values()].sort((left, right) => byText(left.itag, right.itag)),
  };
};

const markShardFlushed = (shard: ModelShard, entity: FlushReceipt['entities'][number]): void => {
  const { address, incarnation } = entity.ref;
  const slot = shard.slots.get(address);
  if (slot?.state == null || slot.incarnation !== incarnation) return;
  if (!shard.dirty.has(address)) return;
  const { version } = slot.state;
  shard.slots.set(address, { ...slot, state: { ...slot.state, flushedVotes: entity.flushedVotes } });
  if (version === entity.version && shard.generation === entity.generation) shard.dirty.delete(address);
  else shard.dirty.set(address, version);
};

const publishShard = (shard: ModelShard, generation: number): void => {
  if (generation <= shard.generation) return;
  shard.generation = generation;
  for (const [address, { state }] of shard.slots) {
    if (state && !shard.dirty.has(address)) shard.dirty.set(address, state.version);
  }
};

const clearShard = (shard: ModelShard, position: ShardPosition): void => {
  if (shard.generation !== position.generation || shard.version !== position.version) return;
  Object.assign(shard, { generation: 0, version: 0, chainHash: 0, changes: [] });
  for (const table of [shard.producers, shard.slots, shard.dirty, shard.outbox]) table.clear();
};

const sweepShard = (shard: ModelShard, nowMs: number, voteWaitMaxMs: number): void => {
  const bucketOf = (atMs: number) => Math.floor(atMs / limits.voteBucketMs);
  const oldest = bucketOf(nowMs - voteWaitMaxMs) - 1;
  shard.votes = shard.votes.filter((vote) => bucketOf(vote.atMs) >= oldest);
  for (const [name, producer] of shard.producers) {
    if (nowMs - producer.seenMs > producerIdleMs) shard.producers.delete(name);
  }
};

interface ModelParts {
  readonly shards: readonly ModelShard[];
  readonly clock: () => number;
  readonly voteWaitMaxMs: number;
  /** Starts every call except a commit: throws if closed, and runs the hook. */
  readonly other: (verb: string) => Promise<void>;
}

const readersOf = (
  parts: ModelParts,
): Pick<HotStore, 'readGenerations' | 'load' | 'peek' | 'countBacklog' | 'readVersions' | 'readChanges'> => {
  const { shards, clock, voteWaitMaxMs, other } = parts;
  const at = (shard: Shard) => shards[shard] as ModelShard;
  return {
    async readGenerations() {
      await other('generations');
      return shards.map((shard) => shard.generation);
    },
    async load(requests): Promise<readonly LoadReply[]> {
      await other('load');
      const nowMs = clock();
      const window = { fromMs: nowMs - voteWaitMaxMs, toMs: nowMs + limits.clockAheadMaxMs };
      return requests.map((request) => loadOne(shards, request, window));
    },
    async peek(limit) {
      await other('peek');
      const wantedShards = limit.shards ?? shards.map((_, index) => toShard(index));
      const room = { entities: limit.entities, votes: limit.votes };
      const parts = wantedShards.map((shard) => {
        const part = takeFitting(peekShard(at(shard), shard), room, limit);
        room.entities -= part.entities.length;
        room.votes -= part.votes.length;
        return part;
      });
      return {
        entities: parts.flatMap((part) => part.entities),
        votes: parts.flatMap((part) => part.votes),
      };
    },
    async countBacklog() {
      await other('backlog');
      const sum = (count: (shard: ModelShard) => number) =>
        shards.reduce((total, shard) => total + count(shard), 0);
      return { entities: sum((shard) => shard.dirty.size), votes: sum((shard) => shard.outbox.size) };
    },
    async readVersions(requested) {
      await other('versions');
      return requested.map((shard) => {
        const { generation, version, chainHash } = at(shard);
        return { generation, version, chainHash };
      });
    },
    async readChanges(known) {
      await other('changes');
      return known.map((from) => listChanges(at(from.shard), from));
    },
  };
};

const writersOf = (parts: ModelParts): Pick<HotStore, 'publish' | 'clear' | 'markFlushed' | 'sweep'> => {
  const { shards, voteWaitMaxMs, other } = parts;
  const at = (shard: Shard) => shards[shard] as ModelShard;
  return {
    async publish(generations) {
      await other('publish');
      for (const { shard, generation } of generations) publishShard(at(shard), generation);
    },
    async clear(positions) {
      await other('clear');
      for (const { shard, ...position } of positions) clearShard(at(shard), position);
    },
    async markFlushed(receipt) {
      await other('settled');
      for (const entity of receipt.entities) markShardFlushed(at(entity.ref.shard), entity);
      for (const { itag, shard } of receipt.votes) at(shard).outbox.delete(itag);
    },
    async sweep(nowMs) {
      await other('sweep');
      for (const shard of shards) sweepShard(shard, nowMs, voteWaitMaxMs);
      return [];
    },
  };
};

/** Creates an empty model. Its shards have no generation: publish them before the first commit. */
export const createHotModel = (options: ModelOptions): HotModel => {
  const { clock, voteWaitMaxMs = 12 * 3_600_000 } = options;
  const shards = Array.from({ length: shardsTotal }, emptyShard);
  const at = (shard: Shard) => shards[shard] as ModelShard;
  let closed = false;
  let committing = false;
  const other = async (verb: string): Promise<void> => {
    if (closed) throw new StorageError(verb, { outcome: 'not_applied', reason: 'closed' });
    await model.hooks.beforeOther?.(verb);
  };
  const parts: ModelParts = { shards, clock, voteWaitMaxMs, other };
  const model: HotModel = {
    shards,
    hooks: {},
    mayLoseTail: options.mayLoseTail ?? false,
    toCommitQueue: () => 0,
    ...readersOf(parts),
    ...createPartsReaders(parts),
    ...writersOf(parts),
    async commit(batches, rules) {
      if (closed) throw new StorageError('commit', { outcome: 'not_applied', reason: 'closed' });
      assert(!committing, 'one commit at a time');
      assert.equal(new Set(batches.map((batch) => batch.shard)).size, batches.length, 'one batch per shard');
      committing = true;
      try {
        await model.hooks.beforeCommit?.(batches);
        const nowMs = clock();
        const replies = batches.map((batch) => runBatch(at(batch.shard), batch, { nowMs, rules }));
        await model.hooks.afterCommit?.(batches);
        return replies;
      } finally {
        committing = false;
      }
    },
    async close() {
      closed = true;
    },
  };
  return model;
};

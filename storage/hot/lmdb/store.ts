/**
 * The embedded hot store: implements the `HotStore` port on LMDB, in one process.
 *
 * Owns the wiring and the checks of arguments. Every call that writes waits in one write queue and runs as
 * one or more transactions, each synced to disk before its promise resolves; reads never wait for them. The
 * caller must guard the folder against a second process. Opened by `storage/open.ts`.
 */
import assert from 'node:assert/strict';
import type { Batch, BatchReply, CommitRules } from '../../../engine/entity/items.ts';
import type { HotState } from '../../../engine/entity/state.ts';
import { computeLongestWaitMs, findHoldingSinceMs } from '../../../engine/entity/votes.ts';
import { StorageError } from '../../../engine/errors.ts';
import { allShards, computeShard, parseEntityRef, shardCount, toAddress } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotStore, LoadReply, LoadRequest, Pulse } from '../../../engine/ports.ts';
import type { HotTransfer } from '../../move/records.ts';
import type { ShardCounts } from '../../shards.ts';
import { clearShard, markFlushed, peek, publishShard, sweep } from './backlog.ts';
import { adoptPlan, DamagedVotes, decide, putPlan, readVotes } from './commit.ts';
import { createDamageLog } from './damage.ts';
import { toVisitorsKey, toVoterKey } from './keys.ts';
import { listDueParts, readParts } from './parts.ts';
import { openTables, readShardCount } from './tables.ts';
import { createTransfer } from './transfer.ts';
import type { Writer } from './writer.ts';
import { assertRoom, createWriter, describeFullDisk, readStoredSlot, runQueued, write } from './writer.ts';

export interface LmdbOptions {
  /** A folder that holds nothing else; created when missing. */
  readonly path: string;
  /** The store's clock: wall time in ms. */
  readonly clock: () => number;
  /** Address space reserved at start; the file grows beyond it by itself. */
  readonly mapSizeBytes?: number;
  /** Above this many bytes in use, commits are refused with reason `full`. Default 1 TiB. */
  readonly sizeMaxBytes?: number;
  /** The longest wait of any vote window ever used, ms; last votes are stored that long. Default 12 h. */
  readonly voteWaitMaxMs?: number;
  /** Called when damaged records are read, at most once a minute, with words for the operator. */
  readonly onDamage?: (description: string) => void;
}

export interface LmdbStore extends HotStore, ShardCounts {
  readonly transfer: HotTransfer;
  /** Copies the store, as of one moment within the call, into an empty folder. Writers go on meanwhile. */
  copyInto(folder: string): Promise<void>;
  /** Says which records were damaged when they were read, and what to do; `null` for none. */
  describeDamage(): string | null;
  /** Says how much room the disk lacks; `null` while there is enough. */
  describeFullDisk(): string | null;
  readonly pulse: Pulse;
}

interface LmdbState {
  readonly writer: Writer;
  readonly clock: () => number;
  readonly voteWaitMaxMs: number;
  committing: boolean;
  /** Where the next `peek` over all shards starts, so that no shard is always last. */
  peekStart: number;
}

const assertOpen = (store: LmdbState, operation: string): void => {
  if (store.writer.closed) throw new StorageError(operation, { outcome: 'not_applied', reason: 'closed' });
};

/**
 * Decides before anything is written: after a failure here the batch had no effect, and its sequence number
 * is free.
 */
const decideOrRefuse = (store: LmdbState, batches: readonly Batch[], rules: CommitRules) => {
  const { writer, voteWaitMaxMs } = store;
  try {
    assert(
      computeLongestWaitMs(rules.windows) <= voteWaitMaxMs,
      'a vote window is longer than last votes are stored',
    );
    const { tables, mirror, recent } = writer;
    return decide(batches, { tables, mirror, recent, rules, nowMs: store.clock() });
  } catch (cause) {
    throw new StorageError('commit', { outcome: 'not_applied', reason: 'bug', cause, detail: String(cause) });
  }
};

const commitQueued = async (
  store: LmdbState,
  batches: readonly Batch[],
  rules: CommitRules,
): Promise<readonly BatchReply[]> => {
  const { writer } = store;
  assertRoom(writer, 'commit');
  const plan = decideOrRefuse(store, batches, rules);
  if (plan.batches.length === 0) return plan.replies;
  await write(writer, 'commit', () => putPlan(writer.tables, writer.mirror, plan));
  adoptPlan(writer.mirror, writer.recent, plan);
  return plan.replies;
};

const commit = async (store: LmdbState, batches: readonly Batch[], rules: CommitRules) => {
  assertOpen(store, 'commit');
  assert(!store.committing, 'one commit at a time');
  assert(new Set(batches.map(({ shard }) => shard)).size === batches.length, 'one batch per shard');
  store.committing = true;
  try {
    return await runQueued(store.writer, () => commitQueued(store, batches, rules));
  } finally {
    store.committing = false;
  }
};

/** `null` when a record of the voter's votes is damaged. */
const findVotedAtMs = (
  store: LmdbState,
  vote: { readonly listing: string; readonly voter: string },
  state: HotState,
): number | null => {
  const nowMs = store.clock();
  const range = {
    voter: toVoterKey(vote.listing, vote.voter),
    fromMs: nowMs - store.voteWaitMaxMs,
    toMs: nowMs + limits.clockAheadMaxMs,
  };
  try {
    return findHoldingSinceMs(readVotes(store.writer.tables, null, range), state.releasedBeforeMs);
  } catch (error) {
    if (error instanceof DamagedVotes) return null;
    throw error;
  }
};

const loadOne = (store: LmdbState, request: LoadRequest): LoadReply => {
  const address = toAddress(request.kind, request.id);
  const shard = computeShard(address);
  const stored = readStoredSlot(store.writer, shard, address);
  const generation = store.writer.mirror[shard]?.generation ?? 0;
  if (stored === null) return { outcome: 'absent', generation };
  if (stored === 'damaged') return { outcome: 'damaged', generation };
  const { incarnation, state } = stored.slot;
  if (state === null) return { outcome: 'forgotten', incarnation, generation };
  const listing = toVisitorsKey(shard, address, incarnation);
  const { voter } = request;
  const votedAtMs = voter === undefined ? 0 : findVotedAtMs(store, { listing, voter }, state);
  if (votedAtMs === null) return { outcome: 'damaged', generation };
  return { outcome: 'found', ref: parseEntityRef(address, incarnation), state, generation, votedAtMs };
};

/** With room the store could answer now: a commit that was refused says nothing any more. */
const createPulse = (writer: Writer): Pulse => ({
  listSilent: () => [describeFullDisk(writer) ?? []].flat(),
  getAnsweredMs: () => (describeFullDisk(writer) === null ? performance.now() : Number.NEGATIVE_INFINITY),
  mayLoseTail: () => false,
});

const rotateShards = (store: LmdbState) => {
  store.peekStart = (store.peekStart + 1) % shardCount;
  return [...allShards.slice(store.peekStart), ...allShards.slice(0, store.peekStart)];
};

const close = async (store: LmdbState): Promise<void> => {
  const { writer } = store;
  if (writer.closed) return;
  writer.closed = true;
  await writer.tail;
  await writer.tables.root.close();
};

const createReaders = (
  store: LmdbState,
): Pick<HotStore, 'readGenerations' | 'load' | 'peek' | 'countBacklog' | 'readVersions' | 'readChanges'> => {
  const { writer } = store;
  return {
    async readGenerations() {
      assertOpen(store, 'generations');
      return writer.mirror.slice(0, shardCount).map(({ generation }) => generation);
    },
    async load(requests) {
      assertOpen(store, 'load');
      return requests.map((request) => loadOne(store, request));
    },
    async peek(limit) {
      assertOpen(store, 'peek');
      return peek(writer, { ...limit, shards: limit.shards ?? rotateShards(store) });
    },
    async countBacklog() {
      assertOpen(store, 'backlog');
      const { dirty, outbox } = writer.tables;
      const count = (stats: object) => (stats as { entryCount: number }).entryCount;
      return { entities: count(dirty.getStats()), votes: count(outbox.getStats()) };
    },
    async readVersions(shards) {
      assertOpen(store, 'versions');
      return shards.map((shard) => {
        const { generation = 0, version = 0, chainHash = 0 } = writer.mirror[shard] ?? {};
        return { generation, version, chainHash };
      });
    },
    /** Keeps no list of changes: no other process writes to this store. */
    async readChanges(known) {
      assertOpen(store, 'changes');
      return known.map((from) => {
        const { generation = 0, version = 0, chainHash = 0 } = writer.mirror[from.shard] ?? {};
        const isSame =
          generation === from.generation && version === from.version && chainHash === from.chainHash;
        return { now: { generation, version, chainHash }, changed: isSame ? new Map() : null };
      });
    },
  };
};

/**
 * Opens or creates the store. Rejects with a message for the operator when the folder holds another format.
 */
export const openLmdbStore = async (options: LmdbOptions): Promise<LmdbStore> => {
  const damage = createDamageLog(options.path, options.onDamage ?? (() => {}));
  const tables = await openTables(options.path, options.mapSizeBytes ?? 2 ** 30, damage.record);
  const writer = createWriter(tables, options.path, options.sizeMaxBytes ?? 2 ** 40);
  const voteWaitMaxMs = options.voteWaitMaxMs ?? 12 * 3_600_000;
  const store: LmdbState = { writer, clock: options.clock, voteWaitMaxMs, committing: false, peekStart: 0 };
  return {
    mayLoseTail: false,
    describeDamage: damage.describe,
    describeFullDisk: () => describeFullDisk(writer),
    pulse: createPulse(writer),
    toCommitQueue: () => 0,
    ...createReaders(store),
    async readParts(request) {
      assertOpen(store, 'parts');
      return readParts(writer, request);
    },
    async listDueParts(shards, limit) {
      assertOpen(store, 'due parts');
      return listDueParts(writer, { shards, limit, nowMs: options.clock() });
    },
    commit: (batches, rules) => commit(store, batches, rules),
    async publish(generations) {
      assertOpen(store, 'publish');
      for (const { shard, generation } of generations) {
        await runQueued(writer, () => publishShard(writer, shard, generation));
      }
    },
    async clear(positions) {
      assertOpen(store, 'clear');
      for (const { shard, ...position } of positions)
        await runQueued(writer, () => clearShard(writer, shard, position));
    },
    async markFlushed(receipt) {
      assertOpen(store, 'settled');
      await markFlushed(writer, receipt);
    },
    async sweep(nowMs) {
      assertOpen(store, 'sweep');
      const oldestBucket = Math.floor((nowMs - voteWaitMaxMs) / limits.voteBucketMs) - 1;
      await runQueued(writer, () => sweep(writer, nowMs, Math.max(0, oldestBucket)));
    },
    async listShardCounts() {
      assertOpen(store, 'shard count');
      const count = readShardCount(tables);
      return count === null ? [] : [count];
    },
    transfer: createTransfer(writer),
    copyInto: (folder) => tables.root.backup(folder, false),
    close: () => close(store),
  };
};

/**
 * The hot store on Redis: implements the `HotStore` port with versioned functions that decide inside the
 * server.
 *
 * Owns the wiring and the checks of arguments. On one server a whole tick is one call; on a Cluster every
 * shard has its own call and commit queue. Any number of nodes may use the same Redis: Redis decides, and no
 * node owns an entity. A commit is repeated only after Redis answered that it did nothing (a redirect, a
 * missing library).
 */
import assert from 'node:assert/strict';
import type { Batch, BatchReply, CommitRules } from '../../../engine/entity/items.ts';
import { createNotAppliedError, toNotAppliedError } from '../../../engine/errors.ts';
import {
  computeShard,
  listAllShards,
  parseEntityRef,
  type Shard,
  shardsTotal,
  toAddress,
} from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotStore, LoadReply, LoadRequest } from '../../../engine/ports.ts';
import type { Note } from '../../../engine/tools/notes.ts';
import type { HotTransfer } from '../../move/records.ts';
import { markFlushed, peek } from './backlog.ts';
import { packCall, packRules, takeReplies } from './codec.ts';
import { createDamageNotes, type DamageNotes } from './damage.ts';
import {
  createDurabilityWatch,
  type DurabilityWatch,
  type MemorySettings,
  readMemorySettings,
} from './durability.ts';
import { toOpenError, toStorageError } from './errors.ts';
import { assertFormat } from './format.ts';
import { createHeadsReader, type HeadsReader, readChanges } from './heads.ts';
import { dropLibraries, type Library, readLibrary } from './library.ts';
import { type Link, openLink } from './link.ts';
import { listDueParts, readParts } from './parts.ts';
import { type RunningPulse, startPulse } from './pulse.ts';
import { takeSlotText } from './slots.ts';
import { toTag } from './tags.ts';
import { createTransfer } from './transfer.ts';
import { type ByteCursor, createCursor, takeNumber } from './unpack.ts';
import { clearShard, createMending, type Mended, publishShard, sweep } from './upkeep.ts';

export interface RedisOptions {
  /** `redis://` or `rediss://` URLs: one names a server, several name nodes of one Cluster. */
  readonly urls: readonly string[];
  /** Prefix of every key, for a Redis that other programs use too. Must not contain braces. */
  readonly prefix?: string;
  /** Replaces the clock of Redis, in ms. For tests only. */
  readonly clock?: () => number;
  /**
   * The client closes a connection that is silent for this long while an answer is due, and reconnects.
   * Default 3 s.
   */
  readonly silenceMaxMs?: number;
  /** Receives connection errors; the adapter reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

/** Versions of the function library: nodes of several versions may share one Redis. */
export interface RedisLibraries {
  /** The version this node calls. */
  readonly version: string;
  /**
   * Drops all versions except this node's and those in `keep`, which are in use. A node that needs a dropped
   * one loads it again.
   */
  dropOthers(keep: ReadonlySet<string>): Promise<void>;
}

interface RedisState {
  readonly link: Link;
  readonly heads: HeadsReader;
  readonly damage: DamageNotes;
  readonly clock: (() => number) | undefined;
  readonly committing: Set<number>;
  readonly calls: Set<Promise<unknown>>;
  rules: CommitRules | undefined;
  rulesPacked: Buffer;
  closed: boolean;
  /** Where the next `peek` over all shards starts, so that no shard is always last. */
  peekStart: number;
}

/** Requests looked up in one call. */
const loadStep = 500;

/** Runs one operation: rejects when the store is closed, makes `close` wait for it, wraps its failures. */
const runOperation = async <Result>(
  store: RedisState,
  operation: string,
  task: () => Promise<Result>,
): Promise<Result> => {
  if (store.closed) throw createNotAppliedError(operation, 'closed');
  const call = task();
  store.calls.add(call);
  try {
    return await call;
  } catch (error) {
    throw toStorageError(operation, error);
  } finally {
    store.calls.delete(call);
  }
};

const formatNow = (store: RedisState): string => (store.clock ? String(store.clock()) : '');

/** After a failure here nothing was sent: the batches had no effect, and their sequence numbers are free. */
const packOrRefuse = (store: RedisState, batches: readonly Batch[], rules: CommitRules) => {
  try {
    if (store.rules !== rules) {
      store.rulesPacked = packRules(rules);
      store.rules = rules;
    }
    const tags = batches.map(({ shard }) => toTag(shard));
    return { tags, call: packCall(batches, tags) };
  } catch (cause) {
    throw toNotAppliedError('commit', 'bug', cause);
  }
};

const commit = async (
  store: RedisState,
  batches: readonly Batch[],
  rules: CommitRules,
): Promise<readonly BatchReply[]> => {
  const { tags, call } = packOrRefuse(store, batches, rules);
  const args = [formatNow(store), store.rulesPacked, call.packed];
  return takeReplies(await store.link.call('commit', tags, args), call);
};

const assertDistinctShards = ({ link }: RedisState, batches: readonly Batch[], commitQueue: number): void => {
  const seenShards = new Uint8Array(shardsTotal);
  for (const { shard } of batches) {
    assert(seenShards[shard] === 0, 'one batch per shard');
    assert(link.toCommitQueue(shard) === commitQueue, 'batches of one commit queue');
    seenShards[shard] = 1;
  }
};

const commitQueued = async (store: RedisState, batches: readonly Batch[], rules: CommitRules) => {
  const [first] = batches;
  if (first === undefined) return [];
  const commitQueue = store.link.toCommitQueue(first.shard);
  assert(!store.committing.has(commitQueue), 'one commit at a time in each commit queue');
  assertDistinctShards(store, batches, commitQueue);
  store.committing.add(commitQueue);
  try {
    return await runOperation(store, 'commit', () => commit(store, batches, rules));
  } finally {
    store.committing.delete(commitQueue);
  }
};

interface PendingLoad {
  readonly request: LoadRequest;
  readonly shard: Shard;
  readonly index: number;
}

const takeLoad = (
  cursor: ByteCursor,
  { request, shard }: PendingLoad,
  { record }: DamageNotes,
): LoadReply => {
  const generation = takeNumber(cursor);
  const votedAtMs = takeNumber(cursor);
  const address = toAddress(request.kind, request.id);
  const slot = takeSlotText(cursor, (kind) => record(kind, address));
  if (!slot) return { outcome: 'absent', generation };
  if (slot === 'damaged') return { outcome: 'damaged', generation };
  const { incarnation, state } = slot;
  if (state === null) return { outcome: 'forgotten', incarnation, generation };
  const ref = parseEntityRef(address, incarnation, shard);
  return { outcome: 'found', ref, state, generation, votedAtMs };
};

const loadPending = async (
  store: RedisState,
  pendingLoads: readonly PendingLoad[],
  replies: LoadReply[],
): Promise<void> => {
  const tags = new Set(pendingLoads.map(({ shard }) => toTag(shard)));
  const args = pendingLoads.flatMap(({ request, shard }) => [
    toTag(shard),
    toAddress(request.kind, request.id),
    request.voter ?? '',
  ]);
  const cursor = createCursor(
    await store.link.call('load', [...tags], [formatNow(store), limits.voteBucketMs, ...args]),
  );
  for (const pending of pendingLoads) replies[pending.index] = takeLoad(cursor, pending, store.damage);
};

const load = async (store: RedisState, requests: readonly LoadRequest[]): Promise<readonly LoadReply[]> => {
  const pendingLoads = requests.map((request, index): PendingLoad => {
    const shard = computeShard(toAddress(request.kind, request.id));
    return { request, shard, index };
  });
  const shards = [...new Set(pendingLoads.map(({ shard }) => shard))];
  const replies = new Array<LoadReply>(requests.length);
  const calls: Promise<void>[] = [];
  for (const group of store.link.groupShards(shards)) {
    const members = new Set(group);
    const ofGroup = pendingLoads.filter(({ shard }) => members.has(shard));
    for (let first = 0; first < ofGroup.length; first += loadStep) {
      calls.push(loadPending(store, ofGroup.slice(first, first + loadStep), replies));
    }
  }
  await Promise.all(calls);
  return replies;
};

const close = async (store: RedisState): Promise<void> => {
  if (store.closed) return;
  store.closed = true;
  await Promise.allSettled(store.calls);
  store.link.close();
};

const createReaders = (
  store: RedisState,
): Pick<HotStore, 'readGenerations' | 'load' | 'peek' | 'countBacklog' | 'readVersions' | 'readChanges'> => {
  const { heads, link } = store;
  return {
    readGenerations: () =>
      runOperation(store, 'generations', async () =>
        (await heads.read(listAllShards())).map(({ generation }) => generation),
      ),
    load: (requests) => runOperation(store, 'load', () => load(store, requests)),
    peek: (limit) =>
      runOperation(store, 'peek', () =>
        peek(store, {
          ...limit,
          shards: limit.shards ?? listAllShards(store.peekStart++),
        }),
      ),
    countBacklog: () =>
      runOperation(store, 'backlog', async () => {
        const all = await heads.read(listAllShards());
        const sum = (of: (head: (typeof all)[number]) => number) =>
          all.reduce((total, head) => total + of(head), 0);
        return { entities: sum(({ entities }) => entities), votes: sum(({ votes }) => votes) };
      }),
    readChanges: (known) => runOperation(store, 'changes', () => readChanges(link, known)),
    readVersions: (shards) =>
      runOperation(store, 'versions', async () =>
        (await heads.read(shards)).map(({ generation, version, chainHash }) => ({
          generation,
          version,
          chainHash,
        })),
      ),
  };
};

export interface RedisHotStore extends HotStore {
  readonly transfer: HotTransfer;
  readonly libraries: RedisLibraries;
  readonly pulse: RunningPulse;
  /** What a confirmed commit survives, as the last look found. */
  readonly durability: Pick<DurabilityWatch, 'describe' | 'countWeak'>;
  /** What a deleted key had left out, and this node's upkeep has mended; `votes` are those that are lost. */
  readonly mended: Readonly<Mended>;
  /** Says which votes were lost, and which damaged records were read since the store was opened. */
  listDamage(): readonly Note[];
  /** Reads the wall time of each primary, ms. */
  readClocks(): Promise<readonly number[]>;
  /** Reads each primary's memory settings, which say whether it may evict counters. */
  memorySettings(): Promise<readonly MemorySettings[]>;
}

const readClocks = (link: Link): Promise<readonly number[]> =>
  Promise.all(
    link.listPrimaries().map(async (primary) => {
      const [seconds, microseconds] = await primary.time();
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    }),
  );

const createLibraries = ({ link }: RedisState, { version }: Library): RedisLibraries => ({
  version,
  dropOthers: async (keep) => {
    for (const primary of link.listPrimaries()) await dropLibraries(primary, new Set([...keep, version]));
  },
});

/** Connects, loads the functions and reads the durability settings. Rejects with a `StorageError`. */
export const openRedisStore = async (options: RedisOptions): Promise<RedisHotStore> => {
  const { prefix = '', silenceMaxMs = 3_000, onError = () => undefined } = options;
  assert(!/[{}]/.test(prefix), 'a key prefix must not contain braces');
  const library = readLibrary();
  const wanted = { urls: options.urls, prefix, library, silenceMaxMs, onError };
  const link = await openLink(wanted).catch((error: unknown) => {
    throw toOpenError(error);
  });
  await assertFormat(link);
  const durability = createDurabilityWatch(link);
  await durability.check();
  const store: RedisState = {
    link,
    heads: createHeadsReader(link),
    damage: createDamageNotes(),
    clock: options.clock,
    committing: new Set(),
    calls: new Set(),
    rules: undefined,
    rulesPacked: Buffer.alloc(0),
    closed: false,
    peekStart: 0,
  };
  const pulse = startPulse(link, durability, library);
  const mending = createMending(link);
  return {
    durability,
    mayLoseTail: true,
    pulse,
    mended: mending.mended,
    listDamage: () => [...mending.listNotes(), ...store.damage.list()],
    transfer: createTransfer(link),
    libraries: createLibraries(store, library),
    memorySettings: () => runOperation(store, 'memory settings', () => readMemorySettings(link)),
    readClocks: () => runOperation(store, 'clocks', () => readClocks(link)),
    toCommitQueue: (shard) => link.toCommitQueue(shard),
    ...createReaders(store),
    readParts: (request) => runOperation(store, 'parts', () => readParts(link, request)),
    listDueParts: (shards, limit) =>
      runOperation(store, 'due parts', () => listDueParts(link, { shards, limit, now: formatNow(store) })),
    commit: (batches, rules) => commitQueued(store, batches, rules),
    publish: (generations) =>
      runOperation(store, 'publish', async () => {
        for (const { shard, generation } of generations) await publishShard(link, shard, generation);
      }),
    markFlushed: (receipt) => runOperation(store, 'settled', () => markFlushed(link, receipt)),
    clear: (positions) =>
      runOperation(store, 'clear', async () => {
        for (const position of positions) await clearShard(link, position);
      }),
    sweep: (nowMs) => runOperation(store, 'sweep', () => sweep(link, nowMs).then(mending.mend)),
    close: () => {
      pulse.stop();
      return close(store);
    },
  };
};

/**
 * The hot store on Redis: the `HotStore` port over versioned functions that decide inside the server.
 *
 * Owns the wiring and the checks at the door. On one server a whole tick is one call; on a Cluster every
 * shard is a call and a lane of its own. Any number of nodes may use the same Redis: it decides, nobody owns.
 * It never repeats a commit by itself, except where Redis said that it did nothing (a redirect, a missing
 * library). Opened by `storage/open.ts`.
 */
import assert from 'node:assert/strict';
import type { Batch, BatchReply, CommitRules } from '../../engine/entity/items.ts';
import { longestWaitMs } from '../../engine/entity/votes.ts';
import { StorageError } from '../../engine/errors.ts';
import { addressOf, allShards, refAt, type Shard, shardCount, shardOf } from '../../engine/ids.ts';
import type { HotStore, LoadReply, LoadRequest, Pulse } from '../../engine/ports.ts';
import { peek, readHeads, settle } from './redis/backlog.ts';
import { type PackedCall, packCall, packRules, takeReplies } from './redis/codec.ts';
import { durabilityOf } from './redis/durability.ts';
import { toOpenError, toStorageError } from './redis/errors.ts';
import { type MemorySettings, readMemorySettings } from './redis/eviction.ts';
import { dropLibraries, readLibrary } from './redis/library.ts';
import { type Link, openLink } from './redis/link.ts';
import { startPulse } from './redis/pulse.ts';
import { takeSlot } from './redis/slots.ts';
import { type Cursor, cursorOf, takeNumber } from './redis/unpack.ts';

export interface RedisOptions {
  /** `redis://` or `rediss://` addresses: one is a server, several are nodes of one Cluster. */
  readonly urls: readonly string[];
  /** Before every key, for a Redis that others use too. Must not contain braces. */
  readonly prefix?: string;
  /** The store's clock in ms instead of Redis' own: for tests only. */
  readonly clock?: () => number;
  /** The longest wait of any window ever used; last votes are kept that long. */
  readonly voteWaitMaxMs?: number;
  /** A connection silent for so long while an answer is due is closed and made again. */
  readonly silenceMaxMs?: number;
  /** Told about connection errors, which the adapter repairs by itself. */
  readonly onError?: (error: Error) => void;
}

/** Versions of the function library: nodes of several may use one Redis. */
export interface RedisLibraries {
  /** The one this node calls. */
  readonly version: string;
  /** Drops all but this node's and those named. Whoever still needs a dropped one loads it again. */
  dropOthers(keep: ReadonlySet<string>): Promise<void>;
}

interface Store {
  readonly link: Link;
  readonly clock: (() => number) | undefined;
  readonly voteWaitMaxMs: number;
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

/** Runs one verb: refused when closed, awaited by `close`, its failures translated. */
const during = async <Result>(
  store: Store,
  operation: string,
  task: () => Promise<Result>,
): Promise<Result> => {
  if (store.closed) throw new StorageError(operation, { outcome: 'not_applied', reason: 'closed' });
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

const nowWord = (store: Store): string => (store.clock ? String(store.clock()) : '');

/** Before anything is sent, so the batch had no effect: the sequence number may be used again. */
const packOrThrow = (store: Store, batches: readonly Batch[], rules: CommitRules): PackedCall => {
  try {
    assert(
      longestWaitMs(rules.windows) <= store.voteWaitMaxMs,
      'a vote window is longer than last votes are kept',
    );
    if (store.rules !== rules) {
      store.rulesPacked = packRules(rules, store.voteWaitMaxMs);
      store.rules = rules;
    }
    return packCall(batches);
  } catch (cause) {
    throw new StorageError('commit', { outcome: 'not_applied', reason: 'bug', cause, detail: String(cause) });
  }
};

const commit = async (
  store: Store,
  batches: readonly Batch[],
  rules: CommitRules,
): Promise<readonly BatchReply[]> => {
  const call = packOrThrow(store, batches, rules);
  const shards = batches.map(({ shard }) => shard);
  const words = [nowWord(store), store.rulesPacked, call.packed];
  return takeReplies(await store.link.call('commit', shards, words), call);
};

const assertOnce = ({ link }: Store, batches: readonly Batch[], lane: number): void => {
  const seen = new Uint8Array(shardCount);
  for (const { shard } of batches) {
    assert(seen[shard] === 0, 'one batch per shard');
    assert(link.laneOf(shard) === lane, 'batches of one lane');
    seen[shard] = 1;
  }
};

const commitInLane = async (store: Store, batches: readonly Batch[], rules: CommitRules) => {
  const [first] = batches;
  if (first === undefined) return [];
  const lane = store.link.laneOf(first.shard);
  assert(!store.committing.has(lane), 'one commit at a time in each lane');
  assertOnce(store, batches, lane);
  store.committing.add(lane);
  try {
    return await during(store, 'commit', () => commit(store, batches, rules));
  } finally {
    store.committing.delete(lane);
  }
};

interface Asked {
  readonly request: LoadRequest;
  readonly shard: Shard;
  readonly place: number;
}

const takeLoad = (cursor: Cursor, { request }: Asked): LoadReply => {
  const generation = takeNumber(cursor);
  const votedAtMs = takeNumber(cursor);
  const slot = takeSlot(cursor);
  if (!slot) return { outcome: 'absent', generation };
  const { incarnation, state } = slot;
  if (state === null) return { outcome: 'forgotten', incarnation, generation };
  const ref = refAt(addressOf(request.kind, request.id), incarnation);
  return { outcome: 'found', ref, state, generation, votedAtMs };
};

const loadSome = async (store: Store, asked: readonly Asked[], replies: LoadReply[]): Promise<void> => {
  const shards = [...new Set(asked.map(({ shard }) => shard))];
  const words = asked.flatMap(({ request, shard }) => [
    shard,
    addressOf(request.kind, request.id),
    request.voter ?? '',
  ]);
  const cursor = cursorOf(
    await store.link.call('load', shards, [nowWord(store), store.voteWaitMaxMs, ...words]),
  );
  for (const one of asked) replies[one.place] = takeLoad(cursor, one);
};

const load = async (store: Store, requests: readonly LoadRequest[]): Promise<readonly LoadReply[]> => {
  const asked = requests.map((request, place): Asked => {
    return { request, shard: shardOf(addressOf(request.kind, request.id)), place };
  });
  const shards = [...new Set(asked.map(({ shard }) => shard))];
  const replies = new Array<LoadReply>(requests.length);
  const calls: Promise<void>[] = [];
  for (const group of store.link.groups(shards)) {
    const members = new Set(group);
    const these = asked.filter(({ shard }) => members.has(shard));
    for (let first = 0; first < these.length; first += loadStep) {
      calls.push(loadSome(store, these.slice(first, first + loadStep), replies));
    }
  }
  await Promise.all(calls);
  return replies;
};

const turnedShards = (store: Store): readonly Shard[] => {
  store.peekStart = (store.peekStart + 1) % shardCount;
  return [...allShards.slice(store.peekStart), ...allShards.slice(0, store.peekStart)];
};

const sweep = async (store: Store, nowMs: number): Promise<void> => {
  const { link } = store;
  await Promise.all(link.groups(allShards).map((group) => link.call('sweep', group, [nowMs, ...group])));
};

const close = async (store: Store): Promise<void> => {
  if (store.closed) return;
  store.closed = true;
  await Promise.allSettled(store.calls);
  store.link.close();
};

const readers = (store: Store): Pick<HotStore, 'generations' | 'load' | 'peek' | 'backlog' | 'versions'> => {
  const { link } = store;
  return {
    generations: () =>
      during(store, 'generations', async () =>
        (await readHeads(link, allShards)).map(({ generation }) => generation),
      ),
    load: (requests) => during(store, 'load', () => load(store, requests)),
    peek: (limit) =>
      during(store, 'peek', () => peek(link, { ...limit, shards: limit.shards ?? turnedShards(store) })),
    backlog: () =>
      during(store, 'backlog', async () => {
        const heads = await readHeads(link, allShards);
        const sum = (of: (head: (typeof heads)[number]) => number) =>
          heads.reduce((total, head) => total + of(head), 0);
        return { entities: sum(({ entities }) => entities), votes: sum(({ votes }) => votes) };
      }),
    versions: (shards) =>
      during(store, 'versions', async () =>
        (await readHeads(link, shards)).map(({ generation, version, mark }) => ({
          generation,
          version,
          mark,
        })),
      ),
  };
};

export interface RedisHotStore extends HotStore {
  readonly libraries: RedisLibraries;
  readonly pulse: Pulse;
  /** Wall time of each primary, ms. */
  clocks(): Promise<readonly number[]>;
  /** What each primary says of its memory: whether it may evict what is counted. */
  memorySettings(): Promise<readonly MemorySettings[]>;
}

const readClocks = (link: Link): Promise<readonly number[]> =>
  Promise.all(
    link.primaries().map(async (primary) => {
      const [seconds, microseconds] = await primary.time();
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    }),
  );

/** Connects, loads the functions and reads how durable the server is. Rejects with a `StorageError`. */
export const openRedisStore = async (options: RedisOptions): Promise<RedisHotStore> => {
  const { prefix = '', silenceMaxMs = 3_000, onError = () => undefined } = options;
  assert(!/[{}]/.test(prefix), 'a prefix of keys has no braces');
  const library = readLibrary();
  const { link, durability, mayLoseTail } = await openLink({
    urls: options.urls,
    prefix,
    library,
    silenceMaxMs,
    onError,
  })
    .then(async (opened) => ({ link: opened, ...(await durabilityOf(opened)) }))
    .catch((error: unknown) => {
      throw toOpenError(error);
    });
  const store: Store = {
    link,
    clock: options.clock,
    voteWaitMaxMs: options.voteWaitMaxMs ?? 12 * 3_600_000,
    committing: new Set(),
    calls: new Set(),
    rules: undefined,
    rulesPacked: Buffer.alloc(0),
    closed: false,
    peekStart: 0,
  };
  const pulse = startPulse(link);
  const { version } = library;
  const dropOthers = async (keep: ReadonlySet<string>): Promise<void> => {
    for (const primary of link.primaries()) await dropLibraries(primary, new Set([...keep, version]));
  };
  return {
    durability,
    mayLoseTail,
    pulse,
    libraries: { version, dropOthers },
    memorySettings: () => during(store, 'memory settings', () => readMemorySettings(link)),
    clocks: () => during(store, 'clocks', () => readClocks(link)),
    laneOf: (shard) => link.laneOf(shard),
    ...readers(store),
    commit: (batches, rules) => commitInLane(store, batches, rules),
    publish: (generations) =>
      during(store, 'publish', async () => {
        for (const { shard, generation } of generations)
          await link.call('publish', [shard], [shard, generation]);
      }),
    settled: (settlement) => during(store, 'settled', () => settle(link, settlement)),
    clear: (places) =>
      during(store, 'clear', async () => {
        for (const { shard, generation, version } of places)
          await link.call('clear', [shard], [shard, generation, version]);
      }),
    sweep: (nowMs) => during(store, 'sweep', () => sweep(store, nowMs)),
    close: () => {
      pulse.stop();
      return close(store);
    },
  };
};

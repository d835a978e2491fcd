/**
 * The connection to Redis, one server or a Cluster: calls a function for a group of shards.
 *
 * Owns the client's settings: no command waits for a connection, and the client sends no command twice. On
 * one server one call carries all shards; on a Cluster each shard has its own call and commit queue, because
 * shards fail and move one by one. MOVED, ASK and TRYAGAIN are definite answers, so the Cluster client
 * follows them. Redirects in a circle (two nodes name each other) are retried after a pause, for a limited
 * time. Every Cluster call names, beside the shard's entities, a key that never exists: while a hash slot
 * moves, Redis then answers TRYAGAIN and never runs a function that sees only half of a shard's keys.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Shard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { createCluster, createSingle } from '../../nodes/ioredis-clients.ts';
import { isFunctionMissing, isRedirectedTooOften } from './errors.ts';
import { type Library, loadLibrary, type Verb } from './library.ts';
import { assertRights } from './rights.ts';
import type { Tag } from './tags.ts';

export interface LinkOptions {
  /** One URL is a server, several are nodes of one Cluster. */
  readonly urls: readonly string[];
  readonly prefix: string;
  readonly library: Library;
  /** The client closes a connection that sends nothing for this long while an answer is due. */
  readonly silenceMaxMs: number;
  /** Receives connection errors; the client reconnects by itself. */
  readonly onError: (error: Error) => void;
}

type Argument = string | number | Buffer;

/** A server that owns hash slots, and the connection to it; `null` while there is none. */
export interface Primary {
  /** `host:port`. */
  readonly name: string;
  readonly redis: Redis | null;
}

export interface Link {
  readonly prefix: string;
  /** False on a Cluster. */
  readonly isOneServer: boolean;
  toCommitQueue(shard: Shard): number;
  /** Splits shards into groups that one call may carry, in order. */
  groupShards(shards: readonly Shard[]): readonly (readonly Shard[])[];
  /** Calls a function for the tags of one such group. Rejects with the client's error. */
  call(verb: Verb, tags: readonly Tag[], args: readonly Argument[]): Promise<Buffer>;
  /** Sends a command whose first argument is its key, to the key's owner. */
  send(command: string, args: readonly Argument[]): Promise<unknown>;
  listPrimaries(): readonly Redis[];
  /** Every primary that owns hash slots, connected or not. */
  listSlotOwners(): readonly Primary[];
  /** Asks the Cluster in the background which primaries exist. Does nothing on one server. */
  findPrimaries(): void;
  /**
   * Steady time (ms) of the last answered call; `null` on a Cluster, where one answer says little about the
   * other primaries.
   */
  lastAnswerMs(): number | null;
  /** Why one server is not connected, as the client last said; `null` while it is, and for a Cluster. */
  connectionFailure(): Error | null;
  close(): void;
}

/** The longest pause between attempts to connect: a Redis that is back is used again within a second. */
const reconnectMaxMs = 500;
/** Time limit for opening a connection. TCP repeats a lost first packet after a second. */
const connectMaxMs = 1_500;
/**
 * How long a connection that is no longer needed may wait for its calls. A primary that was replaced because
 * it was cut off never answers, and its calls must be repeated at its replacement.
 */
const disconnectMaxMs = 200;
const tryAgainMs = 5;
const redirectionsMax = 16;
/** How long redirects are followed: a request refused after this is still answered before its deadline. */
const redirectedMaxMs = limits.requestDeadlineMs * 0.75;
const redirectedPauseMinMs = 10;
const redirectedPauseMaxMs = 200;
/** How often the client asks a Cluster which node owns which slots: regularly, and while calls fail. */
const slotsRefreshMs = 5_000;
const slotsRefreshFailedMs = 200;
/**
 * If a node does not say within this time who owns which slots, the client asks the next node. While a
 * primary is cut off, some of these requests still go to it, and the next ones wait for it.
 */
const slotsRefreshTimeoutMs = 400;

const computeRetryDelayMs = (attempts: number): number =>
  Math.min(reconnectMaxMs, 20 * 2 ** Math.min(attempts, 6)) * (0.5 + Math.random() / 2);

const buildConnectionOptions = (options: LinkOptions): RedisOptions => ({
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: options.silenceMaxMs,
  connectTimeout: Math.min(connectMaxMs, options.silenceMaxMs),
  disconnectTimeout: disconnectMaxMs,
  // While Redis loads its data, retry after this time instead of the time that Redis estimates.
  maxLoadingRetryTime: reconnectMaxMs,
  connectionName: 'rollcall',
});

const listKeys = (prefix: string, tag: Tag): readonly string[] => [
  `${prefix}{s${tag}}:e`,
  `${prefix}{s${tag}}:never`,
];

/**
 * Loads the library and calls again if the server did not know the function: that refusal is definite. If
 * loading fails, the second call rejects with the same refusal.
 */
const runWithLibrary = async (call: () => Promise<Buffer>, load: () => Promise<unknown>): Promise<Buffer> => {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Error && isFunctionMissing(error))) throw error;
  }
  await load();
  return await call();
};

/**
 * Retries a call that was redirected in a circle: no node has run it. Rejects when the time for retries is
 * over.
 */
const retryWhileRedirected = async (call: () => Promise<unknown>, onFailure: () => void) => {
  const endMs = performance.now() + redirectedMaxMs;
  for (let pauseMs = redirectedPauseMinMs; ; pauseMs = Math.min(pauseMs * 2, redirectedPauseMaxMs)) {
    try {
      return await call();
    } catch (error) {
      onFailure();
      const isLast = performance.now() + pauseMs > endMs;
      if (isLast || !(error instanceof Error && isRedirectedTooOften(error))) throw error;
    }
    await pause(pauseMs);
  }
};

const createServerLink = async (options: LinkOptions, url: string): Promise<Link> => {
  const { library, prefix } = options;
  const settings = buildConnectionOptions(options);
  const redis = createSingle(url, { ...settings, lazyConnect: true, retryStrategy: computeRetryDelayMs });
  let failure: Error | null = null;
  redis.on('ready', () => {
    failure = null;
  });
  redis.on('error', (error: Error) => {
    failure = error;
    options.onError(error);
  });
  await redis.connect().catch((error: Error) => {
    redis.disconnect();
    throw error;
  });
  const load = () => loadLibrary(redis, library).catch(options.onError);
  const { host, port } = redis.options;
  const owners = [{ name: `${host}:${port}`, redis }];
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  const callOnce = async (verb: Verb, args: readonly Argument[]): Promise<Buffer> => {
    const answer = await redis.callBuffer('FCALL', library.functions[verb], 0, prefix, ...args);
    lastAnswerMs = performance.now();
    return answer as Buffer;
  };
  return {
    prefix,
    isOneServer: true,
    toCommitQueue: () => 0,
    groupShards: (shards) => [shards],
    call: (verb, _tags, args) => runWithLibrary(() => callOnce(verb, args), load),
    send: (command, args) => redis.callBuffer(command, ...args),
    listPrimaries: () => [redis],
    listSlotOwners: () => owners,
    findPrimaries: () => {},
    lastAnswerMs: () => lastAnswerMs,
    connectionFailure: () => failure,
    close: () => redis.disconnect(),
  };
};

const waitForCluster = (cluster: Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    cluster.once('ready', resolve);
    cluster.once('end', () => reject(new Error('Failed to refresh slots: no node of the Cluster answered')));
    cluster.connect().catch(reject);
  });

/** Batches the calls of one event-loop turn into one socket write per primary. */
const createCork = (primaries: () => readonly Redis[]): (() => void) => {
  let corked = false;
  return () => {
    if (corked) return;
    corked = true;
    const streams = primaries().flatMap(({ stream }) => (stream?.writable ? [stream] : []));
    for (const stream of streams) stream.cork();
    process.nextTick(() => {
      corked = false;
      for (const stream of streams) stream.uncork();
    });
  };
};

/**
 * Reloads the slot table after a failed call. Without this, calls to a dead primary would wait for the next
 * regular reload before they reach its replacement.
 */
const createRefresh = (cluster: Cluster): (() => void) => {
  let refreshedMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (cluster.status !== 'ready' || performance.now() - refreshedMs < slotsRefreshFailedMs) return;
    refreshedMs = performance.now();
    cluster.refreshSlotsCache();
  };
};

/** Lists the known owners of hash slots. Slots of one range share their entry, which makes this fast. */
const listClusterSlotOwners = (cluster: Cluster): readonly Primary[] => {
  const names = new Set<string>();
  let last: readonly string[] | undefined;
  for (const owners of cluster.slots) {
    if (owners === last) continue;
    last = owners;
    if (owners?.[0] !== undefined) names.add(owners[0]);
  }
  const connections = new Map(
    cluster.nodes('master').map((redis) => [`${redis.options.host}:${redis.options.port}`, redis]),
  );
  return [...names].map((name) => ({ name, redis: connections.get(name) ?? null }));
};

const createClusterLink = async (options: LinkOptions): Promise<Link> => {
  const { library, prefix } = options;
  // A closed connection leaves the outcome unknown: the caller decides whether to repeat the call.
  const cluster = createCluster(options.urls, {
    maxRedirections: redirectionsMax,
    retryDelayOnTryAgain: tryAgainMs,
    slotsRefreshTimeout: Math.min(slotsRefreshTimeoutMs, options.silenceMaxMs),
    slotsRefreshInterval: slotsRefreshMs,
    clusterRetryStrategy: computeRetryDelayMs,
    redisOptions: buildConnectionOptions(options),
  });
  cluster.on('error', options.onError);
  cluster.on('node error', options.onError);
  await waitForCluster(cluster).catch((error: Error) => {
    cluster.disconnect();
    throw error;
  });
  const listPrimaries = () => cluster.nodes('master');
  const cork = createCork(listPrimaries);
  const refresh = createRefresh(cluster);
  const load = () =>
    Promise.all(listPrimaries().map((primary) => loadLibrary(primary, library).catch(options.onError)));
  return {
    prefix,
    isOneServer: false,
    toCommitQueue: (shard) => shard,
    groupShards: (shards) => shards.map((shard) => [shard]),
    call(verb, tags, args) {
      cork();
      const callKeys = tags.flatMap((tag) => listKeys(prefix, tag));
      const name = library.functions[verb];
      const callOnce = () => cluster.callBuffer('FCALL', name, callKeys.length, ...callKeys, prefix, ...args);
      return runWithLibrary(() => retryWhileRedirected(callOnce, refresh) as Promise<Buffer>, load);
    },
    send: (command, args) => cluster.callBuffer(command, ...args),
    listPrimaries,
    listSlotOwners: () => listClusterSlotOwners(cluster),
    findPrimaries: refresh,
    lastAnswerMs: () => null,
    connectionFailure: () => null,
    close: () => cluster.disconnect(),
  };
};

const connect = async (options: LinkOptions): Promise<Link> => {
  const [first] = options.urls;
  if (first === undefined) throw new Error('no address of a Redis server');
  let lastError: Error | undefined;
  const onError = (error: Error): void => {
    lastError = error;
    options.onError(error);
  };
  try {
    return await (options.urls.length === 1
      ? createServerLink({ ...options, onError }, first)
      : createClusterLink({ ...options, onError }));
  } catch (error) {
    // The client rejects with "Connection is closed" and reports the reason in an event.
    throw lastError ?? error;
  }
};

/**
 * Connects and loads the library. Rejects when no server answers, when one refuses the connection, and when
 * the user lacks a right.
 */
export const openLink = async (options: LinkOptions): Promise<Link> => {
  const link = await connect(options);
  try {
    for (const primary of link.listPrimaries()) {
      await assertRights(primary, options.library);
      await loadLibrary(primary, options.library);
    }
  } catch (error) {
    link.close();
    throw error;
  }
  return link;
};

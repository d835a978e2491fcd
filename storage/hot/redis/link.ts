/**
 * The connection to Redis, one server or a Cluster, as the adapter sees it: call a function for some shards.
 *
 * Owns the client's settings: nothing waits for a connection, nothing is sent twice by the client. On one
 * server all shards go into one call; on a Cluster each shard is a call and a lane of its own, because shards
 * fail and move singly. MOVED, ASK and TRYAGAIN are answers, so the Cluster client follows them, and where
 * they lead nowhere the call is made again after a pause, for a while: two nodes may name each other. Every
 * Cluster call names, beside the shard's entities, a key that never exists: while a slot moves Redis then
 * answers TRYAGAIN for all of it, and never runs a function that sees half of a shard's keys.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { type Shard, shardCount, toShard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { patchClusterAsking } from '../../nodes/ioredis-asking.ts';
import { isFunctionMissing, isRedirectedTooOften } from './errors.ts';
import { type Library, loadLibrary, type Verb } from './library.ts';

export interface LinkOptions {
  /** One URL is a server, several are nodes of one Cluster. */
  readonly urls: readonly string[];
  readonly prefix: string;
  readonly library: Library;
  /** A connection that says nothing for so long while an answer is due is given up. */
  readonly silenceMaxMs: number;
  /** Told about connection errors; they are repaired without help. */
  readonly onError: (error: Error) => void;
}

type Argument = string | number | Buffer;

/** A server that has to answer, and the connection to it; `null` while there is none. */
export interface Primary {
  /** `host:port`. */
  readonly name: string;
  readonly redis: Redis | null;
}

export interface Link {
  readonly prefix: string;
  toCommitQueue(shard: Shard): number;
  /** Splits shards into sets that one call may carry, in order. */
  groupShards(shards: readonly Shard[]): readonly (readonly Shard[])[];
  /** Calls a function for one such set. Rejects with the client's error. */
  call(verb: Verb, shards: readonly Shard[], words: readonly Argument[]): Promise<Buffer>;
  listPrimaries(): readonly Redis[];
  /** Every primary with slots, also those that are away. */
  named(): readonly Primary[];
  /** Looks for primaries that have no connection, in the background. */
  findPrimaries(): void;
  /** When a call was last answered, by the steady clock; `null` on a Cluster, where that says little. */
  lastAnswerMs(): number | null;
  close(): void;
}

/** A Redis that is back is used again within a second. */
const reconnectMaxMs = 500;
const tryAgainMs = 5;
const redirectionsMax = 16;
/** How long redirects are followed: what is refused then is still answered before its deadline. */
const redirectedMaxMs = limits.requestDeadlineMs * 0.75;
const redirectedPauseMinMs = 10;
const redirectedPauseMaxMs = 200;
/** A Cluster is asked who owns what so often, and while calls fail. */
const slotsRefreshMs = 5_000;
const slotsRefreshFailedMs = 200;
/** A node that does not tell within so long is passed over for the next. */
const slotsRefreshTimeoutMs = 1_000;

const computeRetryDelayMs = (attempts: number): number =>
  Math.min(reconnectMaxMs, 20 * 2 ** Math.min(attempts, 6)) * (0.5 + Math.random() / 2);

const buildConnectionOptions = (options: LinkOptions): RedisOptions => ({
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: options.silenceMaxMs,
  connectTimeout: options.silenceMaxMs,
  // A Redis that loads is asked again so soon, and not when its own guess of the end has passed.
  maxLoadingRetryTime: reconnectMaxMs,
  connectionName: 'rollcall',
});

const listKeys = (prefix: string, shard: Shard): readonly string[] => [
  `${prefix}{s${shard}}:e`,
  `${prefix}{s${shard}}:never`,
];

/**
 * Calls again after loading the library where it was missing: that refusal is definite. When it cannot be
 * loaded the second call says so once more.
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

/** Makes a call again that was redirected to and fro: nobody has run it. Rejects when that does not end. */
const retryWhileRedirected = async (call: () => Promise<unknown>, failed: () => void): Promise<unknown> => {
  const endMs = performance.now() + redirectedMaxMs;
  for (let pauseMs = redirectedPauseMinMs; ; pauseMs = Math.min(pauseMs * 2, redirectedPauseMaxMs)) {
    try {
      return await call();
    } catch (error) {
      failed();
      const isLast = performance.now() + pauseMs > endMs;
      if (isLast || !(error instanceof Error && isRedirectedTooOften(error))) throw error;
    }
    await pause(pauseMs);
  }
};

const createServerLink = async (options: LinkOptions, url: string): Promise<Link> => {
  const { library, prefix } = options;
  const settings = buildConnectionOptions(options);
  const redis = new Redis(url, { ...settings, lazyConnect: true, retryStrategy: computeRetryDelayMs });
  redis.on('error', options.onError);
  await redis.connect().catch((error: Error) => {
    redis.disconnect();
    throw error;
  });
  const load = () => loadLibrary(redis, library).catch(options.onError);
  const { host, port } = redis.options;
  const named = [{ name: `${host}:${port}`, redis }];
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  const once = async (verb: Verb, words: readonly Argument[]): Promise<Buffer> => {
    const answer = await redis.callBuffer('FCALL', library.functions[verb], 0, prefix, ...words);
    lastAnswerMs = performance.now();
    return answer as Buffer;
  };
  return {
    prefix,
    toCommitQueue: () => 0,
    groupShards: (shards) => [shards],
    call: (verb, _shards, words) => runWithLibrary(() => once(verb, words), load),
    listPrimaries: () => [redis],
    named: () => named,
    findPrimaries: () => {},
    lastAnswerMs: () => lastAnswerMs,
    close: () => redis.disconnect(),
  };
};

const parseStartupNode = (url: string) => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port || 6379) };
};

const waitForCluster = (cluster: Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    cluster.once('ready', resolve);
    cluster.once('end', () => reject(new Error('Failed to refresh slots: no node of the Cluster answered')));
    cluster.connect().catch(reject);
  });

/** Lets all that is called in one turn of the event loop leave in one write per primary. */
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
 * After a failed call: who owns the slot now? Without this a call to a dead primary whose connection is being
 * made would ask nobody else until the next regular look.
 */
const createRefresh = (cluster: Cluster): (() => void) => {
  let askedMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (cluster.status !== 'ready' || performance.now() - askedMs < slotsRefreshFailedMs) return;
    askedMs = performance.now();
    cluster.refreshSlotsCache();
  };
};

/** Who has slots, as far as is known. Slots of one range share their entry, which makes this quick. */
const namedOf = (cluster: Cluster): readonly Primary[] => {
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
  const { username, password, protocol } = new URL(options.urls[0] ?? '');
  const cluster = new Cluster(options.urls.map(parseStartupNode), {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRedirections: redirectionsMax,
    retryDelayOnTryAgain: tryAgainMs,
    // A closed connection leaves the outcome unknown: that is the caller's to repeat.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: Math.min(slotsRefreshTimeoutMs, options.silenceMaxMs),
    slotsRefreshInterval: slotsRefreshMs,
    clusterRetryStrategy: computeRetryDelayMs,
    redisOptions: {
      ...buildConnectionOptions(options),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  });
  patchClusterAsking(cluster);
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
  const keys = Array.from({ length: shardCount }, (_, shard) => listKeys(prefix, toShard(shard)));
  return {
    prefix,
    toCommitQueue: (shard) => shard,
    groupShards: (shards) => shards.map((shard) => [shard]),
    call(verb, shards, words) {
      cork();
      const named = shards.flatMap((shard) => keys[shard] ?? []);
      const name = library.functions[verb];
      const once = () => cluster.callBuffer('FCALL', name, named.length, ...named, prefix, ...words);
      return runWithLibrary(() => retryWhileRedirected(once, refresh) as Promise<Buffer>, load);
    },
    listPrimaries,
    named: () => namedOf(cluster),
    findPrimaries: refresh,
    lastAnswerMs: () => null,
    close: () => cluster.disconnect(),
  };
};

const connect = async (options: LinkOptions): Promise<Link> => {
  const [first] = options.urls;
  if (first === undefined) throw new Error('no address of a Redis server');
  let said: Error | undefined;
  const onError = (error: Error): void => {
    said = error;
    options.onError(error);
  };
  try {
    return await (options.urls.length === 1
      ? createServerLink({ ...options, onError }, first)
      : createClusterLink({ ...options, onError }));
  } catch (error) {
    // The client rejects with "Connection is closed" and tells the reason in an event.
    throw said ?? error;
  }
};

/** Connects and loads the library. Rejects when no server answers or it refuses us. */
export const openLink = async (options: LinkOptions): Promise<Link> => {
  const link = await connect(options);
  try {
    for (const primary of link.listPrimaries()) await loadLibrary(primary, options.library);
  } catch (error) {
    link.close();
    throw error;
  }
  return link;
};

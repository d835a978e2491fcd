/**
 * Creates clients of one server or a Cluster from URLs, and works around an ioredis bug: an unhandled
 * rejection of ASKING when the connection closes.
 *
 * Before a call that a node redirects with ASK, ioredis sends ASKING and ignores its promise. When that
 * connection closes, the promise rejects without a handler, and Node ends the process. The call itself is
 * rejected too, and our code handles that one.
 */
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';

/** Handles the rejection of ASKING. The call behind it reports the failure. */
const patchAsking = (node: Redis): void => {
  const asking = node.asking.bind(node) as () => Promise<'OK'>;
  node.asking = () => {
    const answer = asking();
    answer.catch(() => {});
    return answer;
  };
};

/** Reads the user and the password of a Redis URL, as both client libraries take them. */
export const readCredentials = ({ username, password }: URL) => ({
  ...(username && { username: decodeURIComponent(username) }),
  ...(password && { password: decodeURIComponent(password) }),
});

/** Whether a Redis URL requests TLS. */
export const isTls = ({ protocol }: URL): boolean => protocol === 'rediss:';

/** Computes the pause before a client connects again, ms. */
export const computeRetryDelayMs = (attempts: number): number =>
  Math.min(500, 20 * 2 ** Math.min(attempts, 5));

const reconnectEveryMs = 1_000;

/**
 * Creates a check for `reconnectOnError`: whether an answer says that a replica is connected. Its primary's
 * name may lead to another server by now. True at most once a second.
 */
const createReplicaCheck = (): ((error: Error) => boolean) => {
  let reconnectedMs = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    const nowMs = performance.now();
    if (!message.startsWith('READONLY') || nowMs - reconnectedMs < reconnectEveryMs) return false;
    reconnectedMs = nowMs;
    return true;
  };
};

/** Creates a client of one server. It connects again when that server turns out to be a replica. */
export const createSingle = (url: string, options: RedisOptions): Redis =>
  new Redis(url, { ...options, reconnectOnError: createReplicaCheck() });

/**
 * Creates a client that connects later. All nodes have the user, the password and the protocol of the first
 * URL.
 */
export const createCluster = (urls: readonly string[], options: ClusterOptions): Cluster => {
  const [first, ...others] = urls.map((url) => new URL(url)) as [URL, ...URL[]];
  const nodes = [first, ...others].map(({ hostname, port }) => ({
    host: hostname,
    port: Number(port || 6379),
  }));
  const cluster = new Cluster(nodes, {
    lazyConnect: true,
    enableOfflineQueue: false,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // The names stay, for the certificates: the client would connect to their IP addresses.
    ...(isTls(first) && { dnsLookup: (name, done) => done(null, name) }),
    ...options,
    redisOptions: {
      ...options.redisOptions,
      ...readCredentials(first),
      ...(isTls(first) && { tls: {} }),
    },
  });
  cluster.on('+node', patchAsking);
  return cluster;
};

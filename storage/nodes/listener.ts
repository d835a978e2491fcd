/**
 * The receiving Redis connection (node-redis): messages of other nodes, and tracked reads.
 *
 * On one server client tracking is on (RESP3): Redis notifies this connection when a key it read changes, is
 * deleted or expires. We handle those notices as events instead of using the client's built-in cache, whose
 * index of keys is unbounded and which may keep an answer that a flush made stale. On a Cluster the
 * connection only subscribes. Never writes. Reconnects for ever and reports every loss at once.
 */
import { createClient, createCluster } from 'redis';
import { computeRetryDelayMs, isTls, readCredentials } from './ioredis-clients.ts';

export interface ListenerOptions {
  readonly urls: readonly string[];
  readonly channels: readonly string[];
  readonly onMessage: (text: string) => void;
  /** A key that was read here has changed; `null`: any key may have. */
  readonly onChanged: (key: string | null) => void;
  /**
   * The connection broke: everything that depends on it is stale. May be called several times for one loss.
   */
  readonly onLost: (error: Error) => void;
}

/** The value of a key, and the time until it expires: `PTTL`, ms. */
export interface StoredText {
  readonly text: string | null;
  readonly leftMs: number;
}

export interface Listener {
  /** Reads one key and tracks it. Rejects when there is no connection, and on a Cluster. */
  read(key: string): Promise<StoredText>;
  close(): void;
}

/** The client sends a PING this often, so a longer silence means a dead connection. */
const pingEveryMs = 2_000;
const silenceMaxMs = 3_000;

const socket = { connectTimeout: 2_000, socketTimeout: silenceMaxMs, reconnectStrategy: computeRetryDelayMs };

/** What both kinds of clients of node-redis have. */
interface SubscribingClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  subscribe(channels: string[], onMessage: (text: string) => void): Promise<unknown>;
}

/**
 * Connects and subscribes, and repeats that until it is done: the client subscribes again by itself only to
 * what it was once subscribed to. Returns a function that closes the client.
 */
const startClient = (client: SubscribingClient, options: ListenerOptions): (() => void) => {
  let closed = false;
  const start = async (): Promise<void> => {
    if (!client.isOpen) await client.connect();
    if (closed) client.destroy();
    else await client.subscribe([...options.channels], options.onMessage);
  };
  const startUntilDone = (): void => {
    if (closed) return;
    start().catch((error: Error) => {
      options.onLost(error);
      setTimeout(startUntilDone, computeRetryDelayMs(5)).unref();
    });
  };
  startUntilDone();
  return () => {
    // A close during `connect` does not end the connection that is being made: `start` does.
    closed = true;
    client.destroy();
  };
};

const openSingle = (options: ListenerOptions, url: string): Listener => {
  const settings = { RESP: 3, emitInvalidate: true, disableOfflineQueue: true } as const;
  // The client writes the host into the object that it gets.
  const client = createClient({ url, ...settings, pingInterval: pingEveryMs, socket: { ...socket } });
  client.on('error', options.onLost);
  client.on('reconnecting', () => options.onLost(new Error('connecting again')));
  client.on('invalidate', (key: Buffer | string | null) =>
    options.onChanged(key === null ? null : String(key)),
  );
  const close = startClient(client, options);
  const read = async (key: string): Promise<StoredText> => {
    const [leftMs, text] = await Promise.all([client.pTTL(key), client.get(key)]);
    return { leftMs, text };
  };
  return { read, close };
};

const openCluster = (options: ListenerOptions): Listener => {
  const first = new URL(options.urls[0] ?? '');
  const cluster = createCluster({
    rootNodes: options.urls.map((url) => ({ url })),
    // Also for nodes that only the Cluster names: without it they get the password unencrypted.
    defaults: {
      ...readCredentials(first),
      pingInterval: pingEveryMs,
      socket: { ...socket, ...(isTls(first) && { tls: true }) },
    },
    RESP: 3,
  });
  cluster.on('error', options.onLost);
  const close = startClient(cluster, options);
  return { read: () => Promise.reject(new Error('on a Cluster, read through commands.ts')), close };
};

/** Starts to connect and returns at once. */
export const openListener = (options: ListenerOptions): Listener => {
  const [first = ''] = options.urls;
  return options.urls.length === 1 ? openSingle(options, first) : openCluster(options);
};

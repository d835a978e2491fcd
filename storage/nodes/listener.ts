/**
 * The listening connection, through node-redis: messages of other nodes, and reads that Redis keeps an eye
 * on.
 *
 * On one server the connection has client tracking on (RESP3): Redis tells it when a key it read has
 * changed, gone or expired. We take those notices as events instead of the client's built-in cache, whose
 * index of keys has no bound and which may keep an answer that a flush has overtaken. On a Cluster it only
 * subscribes. Never writes. Connects again for ever; every loss is told at once. Only `signals.ts` uses
 * this.
 */
import { createClient, createCluster } from 'redis';

export interface ListenerOptions {
  readonly urls: readonly string[];
  readonly channel: string;
  readonly onMessage: (text: string) => void;
  /** A key that was read here is no longer what it was; `null`: none is. */
  readonly onChanged: (key: string | null) => void;
  /**
   * The connection broke: nothing that depends on it may be believed. May come several times for one loss.
   */
  readonly onLost: (error: Error) => void;
}

/** One key's text, and what is left of its life when it ends by itself. */
export interface StoredText {
  readonly text: string | null;
  readonly leftMs: number;
}

export interface Listener {
  /** Whether `read` watches what it reads. */
  readonly tracks: boolean;
  /** One key, watched from now on. Rejects when there is no connection. */
  read(key: string): Promise<StoredText>;
  close(): void;
}

/** The plane's own beats come several times a second, so so much silence means a dead connection. */
const silenceMaxMs = 2_000;
const computeReconnectMs = (attempts: number): number => Math.min(500, 20 * 2 ** Math.min(attempts, 5));

const socket = { connectTimeout: 2_000, socketTimeout: silenceMaxMs, reconnectStrategy: computeReconnectMs };

const openSingle = (options: ListenerOptions, url: string): Listener => {
  const client = createClient({ url, RESP: 3, emitInvalidate: true, disableOfflineQueue: true, socket });
  client.on('error', options.onLost);
  client.on('reconnecting', () => options.onLost(new Error('connecting again')));
  client.on('invalidate', (key: Buffer | string | null) =>
    options.onChanged(key === null ? null : String(key)),
  );
  const start = async (): Promise<void> => {
    await client.connect();
    await client.subscribe(options.channel, options.onMessage);
  };
  start().catch(options.onLost);
  const read = async (key: string): Promise<StoredText> => {
    const [leftMs, text] = await Promise.all([client.pTTL(key), client.get(key)]);
    return { leftMs, text };
  };
  return { tracks: true, read, close: () => client.destroy() };
};

const openCluster = (options: ListenerOptions): Listener => {
  const { username, password } = new URL(options.urls[0] ?? '');
  const credentials = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
  const cluster = createCluster({
    rootNodes: options.urls.map((url) => ({ url })),
    defaults: { ...credentials, socket },
    RESP: 3,
  });
  cluster.on('error', options.onLost);
  let closed = false;
  const start = async (): Promise<void> => {
    await cluster.connect();
    if (!closed) await cluster.subscribe(options.channel, options.onMessage);
  };
  const again = (error: Error): void => {
    options.onLost(error);
    if (!closed) setTimeout(() => start().catch(again), computeReconnectMs(5)).unref();
  };
  start().catch(again);
  return {
    tracks: false,
    read: () => Promise.reject(new Error('a Cluster is read through the command plane')),
    close: () => {
      closed = true;
      cluster.destroy();
    },
  };
};

/** Starts to connect and returns at once. */
export const openListener = (options: ListenerOptions): Listener => {
  const [first = ''] = options.urls;
  return options.urls.length === 1 ? openSingle(options, first) : openCluster(options);
};

/**
 * The Redis connection for commands between nodes (ioredis): session copies, rate limits, heartbeats and
 * publishing. It only sends commands; listener.ts receives.
 *
 * Separate from the hot store's connection, so that a small answer never waits behind a large batch. No
 * command waits for a connection or is sent twice: while Redis is away every command fails at once, and the
 * caller falls back. Opening returns at once; the client connects and reconnects in the background. What the
 * neighbours are: membership.ts lists nodes in SQL, heartbeats.ts lists nodes in Redis,
 * ops/cluster-context.ts wires all of them together.
 */
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { StorageError, toError } from '../../engine/errors.ts';
import { computeRetryDelayMs, createCluster, createSingle } from './ioredis-clients.ts';

export interface RedisCommandsOptions {
  /** One URL is a server, several are nodes of one Cluster. */
  readonly urls: readonly string[];
  /** A command without an answer is given up after this time. */
  readonly timeoutMs: number;
  /** Receives connection errors; the client reconnects by itself. */
  readonly onError: (error: Error) => void;
}

/** A connection without any answer for this long is replaced: a firewall may have forgotten it. */
const silenceMaxMs = 2_000;

/** Not "Connection is closed": commands in flight get that as well. */
const notSent = /isn't writeable|isn't ready|Failed to refresh slots/;

const buildConnectionOptions = ({ timeoutMs }: RedisCommandsOptions): RedisOptions => ({
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: timeoutMs,
  socketTimeout: silenceMaxMs,
  connectTimeout: 2_000,
  // While Redis loads its data, retry after this time instead of the time that Redis estimates.
  maxLoadingRetryTime: 1_000,
  connectionName: 'rollcall-signals',
  lazyConnect: true,
});

const openCluster = (options: RedisCommandsOptions): Cluster =>
  createCluster(options.urls, {
    slotsRefreshTimeout: options.timeoutMs,
    slotsRefreshInterval: 5_000,
    clusterRetryStrategy: computeRetryDelayMs,
    redisOptions: buildConnectionOptions(options),
  });

const createUnreachableError = (name: string, cause: unknown): StorageError => {
  const error = toError(cause);
  const answered = error.name === 'ReplyError';
  const outcome = answered || notSent.test(error.message) ? 'not_applied' : 'unknown';
  const reason = answered ? 'busy' : 'unreachable';
  return new StorageError(`redis ${name}`, { outcome, reason, cause, detail: error.message });
};

/** Starts to connect and returns at once. */
export const openCommands = (options: RedisCommandsOptions) => {
  const [first = ''] = options.urls;
  const single = () =>
    createSingle(first, { ...buildConnectionOptions(options), retryStrategy: computeRetryDelayMs });
  const client: Redis | Cluster = options.urls.length === 1 ? single() : openCluster(options);
  client.on('error', options.onError);
  client.connect().catch(options.onError);
  return {
    /** Sends one command. Rejects with a `StorageError`, `not_applied` when nothing left this process. */
    send: async (name: string, args: readonly (string | number)[]) => {
      try {
        return await client.call(name, ...args);
      } catch (cause) {
        throw createUnreachableError(name, cause);
      }
    },
    close: () => client.disconnect(),
  };
};
export type RedisCommands = ReturnType<typeof openCommands>;

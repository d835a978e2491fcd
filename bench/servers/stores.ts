/**
 * The stores of one run: a Redis and a Postgres for Rollcall, others for the peers, all synced to disk; or
 * none, when Rollcall runs on its embedded ones.
 *
 * The suite starts them on free ports and ends them; no other server of the machine is touched.
 */
import { listTree, readProcessUs, readTreeUs, readWrittenBytes } from '../machine/cpu.ts';
import { type PostgresServer, startPostgres } from '../shared/postgres-server.ts';
import { type RedisServer, startRedis } from '../shared/redis-server.ts';

export const storeKinds = ['redis', 'embedded'] as const;
export interface Stores {
  readonly kind: (typeof storeKinds)[number];
  /** Settings of Rollcall. */
  readonly rollcall: Readonly<Record<string, string>>;
  /** CPU used so far, in microseconds; 0 without such a store. Those of the peers are not included. */
  redisUs(): number;
  postgresUs(): number;
  /** Bytes that the stores have sent to the disk so far. */
  writtenBytes(): number;
  /** The stores of the peers. */
  readonly peers: Stores | null;
  readonly redis: RedisServer | null;
  readonly postgres: PostgresServer | null;
  close(): Promise<void>;
}

/** The stores that a server works on; `null` for one that has none outside its process. */
export const findStores = (stores: Stores, server: string): Stores | null => {
  if (server === 'rollcall') return stores;
  if (server === 'bare' || server === 'rollcall-embedded' || stores.peers === null) return null;
  const none = { redis: null, redisUs: () => 0 };
  return server === 'fastify-sql' ? { ...stores.peers, ...none } : stores.peers;
};

const settings = { max_connections: '200', shared_buffers: '256MB' };

/** `postgres`: without a Redis. `withPeers`: with a second Redis and Postgres for them. */
export const openStores = async (kind: Stores['kind'] | 'postgres', withPeers: boolean): Promise<Stores> => {
  const redis = kind === 'redis' ? await startRedis() : null;
  const postgres =
    kind === 'embedded' ? null : await startPostgres({ ownGroup: true, settings, countsStatements: true });
  const peers = withPeers ? await openStores('redis', false) : null;
  const listProcesses = (): readonly number[] => [
    ...(redis === null ? [] : [redis.pid()]),
    ...(postgres === null ? [] : listTree(postgres.pid())),
  ];
  return {
    kind: kind === 'embedded' ? 'embedded' : 'redis',
    rollcall: { REDIS_URL: redis?.url ?? '', DATABASE_URL: (await postgres?.database('rollcall')) ?? '' },
    redisUs: () => (redis === null ? 0 : readProcessUs(redis.pid())),
    postgresUs: () => (postgres === null ? 0 : readTreeUs(postgres.pid())),
    writtenBytes: () => listProcesses().reduce((sum, pid) => sum + readWrittenBytes(pid), 0),
    ...{ peers, redis, postgres },
    close: async () => {
      await Promise.all([redis?.dispose(), postgres?.close(), peers?.close()]);
    },
  };
};

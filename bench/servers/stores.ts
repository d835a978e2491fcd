/**
 * The stores of one run: a Redis and a Postgres for Rollcall, a Redis and databases of their own for the
 * peers, all synced to disk; or none, when Rollcall runs on its embedded ones.
 *
 * The suite starts them on free ports and ends them; no other server of the machine is touched.
 */
import { readProcessUs, readTreeUs } from '../machine/cpu.ts';
import { type PostgresServer, startPostgres } from '../shared/postgres-server.ts';
import { type RedisServer, startRedis } from '../shared/redis-server.ts';

export interface Stores {
  readonly kind: 'redis' | 'embedded';
  /** Settings of Rollcall. */
  readonly rollcall: Readonly<Record<string, string>>;
  /** CPU used so far, in microseconds; 0 without such a store. */
  redisUs(): number;
  postgresUs(): number;
  /** The address of a peer's store. */
  peerRedis(): Promise<string>;
  peerDatabase(name: string): Promise<string>;
  readonly redis: RedisServer | null;
  readonly postgres: PostgresServer | null;
  close(): Promise<void>;
}

export const openStores = async (kind: Stores['kind'], peers: boolean): Promise<Stores> => {
  const needed = kind === 'redis';
  const redis = needed ? await startRedis() : null;
  const peerRedis = peers ? await startRedis() : null;
  const postgres =
    needed || peers
      ? await startPostgres({ ownGroup: true, settings: { max_connections: '200', shared_buffers: '256MB' } })
      : null;
  const addresses =
    redis !== null && postgres !== null
      ? { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('rollcall') }
      : { REDIS_URL: '', DATABASE_URL: '' };
  const redises = [redis, peerRedis].filter((one) => one !== null);
  return {
    kind,
    rollcall: addresses,
    redisUs: () => redises.reduce((sum, one) => sum + readProcessUs(one.pid()), 0),
    postgresUs: () => (postgres === null ? 0 : readTreeUs(postgres.pid())),
    peerRedis: async () => peerRedis?.url ?? '',
    peerDatabase: async (name) => (await postgres?.database(name)) ?? '',
    redis,
    postgres,
    close: async () => {
      await Promise.all([...redises.map((one) => one.dispose()), postgres?.close()]);
    },
  };
};

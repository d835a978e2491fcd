/**
 * The world of a case on shared stores: a Redis (or a Cluster), a Postgres, a proxy before each, and nodes on
 * them with their load, log and judge. Everything is the test's own and ends with it.
 */
import { Redis } from 'ioredis';
import { type CutProxy, openCutProxy } from '../../support/cut-proxy.ts';
import { type PostgresOptions, type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { type ClusterOptions, type RedisCluster, startRedisCluster } from '../../support/redis-cluster.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { openStack, type Stack } from './stack.ts';

export interface ServersOptions {
  readonly seed: number;
  /** Two by default. */
  readonly nodes?: number;
  readonly redis?: RedisOptions;
  /** A Cluster instead of one Redis. */
  readonly cluster?: ClusterOptions;
  readonly postgres?: PostgresOptions;
  /** The server that all nodes reach through its proxy; none by default. */
  readonly behindProxy?: 'redis' | 'postgres';
  /** Environment of every node beside the usual one. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface ServersWorld {
  readonly stack: Stack;
  /** The only Redis, or the first server of the Cluster. */
  readonly redis: RedisServer;
  readonly cluster: RedisCluster | null;
  readonly postgres: PostgresServer;
  /** The database past its proxy, and through it. */
  readonly databaseUrl: string;
  readonly slowDatabaseUrl: string;
  readonly redisProxy: CutProxy;
  readonly postgresProxy: CutProxy;
  /** A connection to each Redis, to do harm with, past the proxy; and the first of them. */
  readonly admins: readonly Redis[];
  readonly admin: Redis;
}

/** Opens servers and nodes, runs the task, and closes all of it. */
export const onServers = async <Result>(
  options: ServersOptions,
  task: (world: ServersWorld) => Promise<Result>,
): Promise<Result> => {
  const closers: (() => unknown)[] = [];
  const opened = <Opened>(one: Opened, close: () => unknown): Opened => {
    closers.unshift(close);
    return one;
  };
  try {
    const postgres = await startPostgres(options.postgres);
    opened(postgres, () => postgres.close());
    const cluster = options.cluster ? await startRedisCluster(options.cluster) : null;
    if (cluster !== null) opened(cluster, () => cluster.dispose());
    const redis = cluster?.servers[0] ?? (await startRedis(options.redis));
    if (cluster === null) opened(redis, () => redis.dispose());
    const redisProxy = await openCutProxy(redis.port);
    opened(redisProxy, () => redisProxy.close());
    const postgresProxy = await openCutProxy(postgres.port);
    opened(postgresProxy, () => postgresProxy.close());
    const admins = (cluster?.urls ?? [redis.url]).map(connectAdmin);
    opened(admins, () => admins.map((admin) => admin.disconnect()));
    const databaseUrl = await postgres.database('faults');
    const slowDatabaseUrl = databaseUrl.replace(`:${postgres.port}/`, `:${postgresProxy.port}/`);
    const proxied = [`redis://127.0.0.1:${redisProxy.port}`];
    const stack = await openStack({
      redisUrls: options.behindProxy === 'redis' ? proxied : (cluster?.urls ?? [redis.url]),
      databaseUrl: options.behindProxy === 'postgres' ? slowDatabaseUrl : databaseUrl,
      nodes: options.nodes ?? 2,
      seed: options.seed,
      ...(options.settings && { settings: options.settings }),
    });
    opened(stack, () => stack.close());
    const servers = { redis, cluster, postgres, redisProxy, postgresProxy, admins };
    const admin = admins[0] as Redis;
    return await task({ stack, databaseUrl, slowDatabaseUrl, admin, ...servers });
  } finally {
    await closeAll(closers);
  }
};

/** All of them, also when one fails; then throws what failed first. */
const closeAll = async (closers: readonly (() => unknown)[]): Promise<void> => {
  const errors: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
};

const connectAdmin = (url: string): Redis => {
  const admin = new Redis(url);
  // The tests end these servers on purpose.
  admin.on('error', () => undefined);
  return admin;
};

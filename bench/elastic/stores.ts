/**
 * A Redis Cluster and a Postgres as the stores of a world.
 */
import { readProcessUs } from '../machine/cpu.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { type RedisCluster, startRedisCluster } from '../shared/redis-cluster.ts';

/** Long enough for a busy machine: nothing is to fail over here. */
const nodeTimeoutMs = 15_000;

/** Three primaries with a replica each, and a Postgres. */
export const openClusterStores = async (): Promise<{
  readonly cluster: RedisCluster;
  readonly stores: Stores;
}> => {
  const [cluster, others] = await Promise.all([
    startRedisCluster({ nodeTimeoutMs }),
    openStores('postgres', false),
  ]);
  const stores: Stores = {
    ...others,
    rollcall: { ...others.rollcall, REDIS_URL: cluster.urls.join() },
    redisUs: () => cluster.servers.reduce((sum, server) => sum + readProcessUs(server.pid()), 0),
    close: async () => {
      await Promise.all([cluster.dispose(), others.close()]);
    },
  };
  return { cluster, stores };
};

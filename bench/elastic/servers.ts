/**
 * The servers of `elastic`: nodes on a Redis Cluster and a Postgres, where nodes and primaries are added and
 * removed under load.
 */
import { readCpuTime, readProcessUs, readTreeUs } from '../machine/cpu.ts';
import { settings, tier, waitMs } from '../prove/own-servers.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { postgresSettings } from '../servers/stores.ts';
import { startPostgres } from '../shared/postgres-server.ts';
import { type RedisCluster, startRedisCluster } from '../shared/redis-cluster.ts';

/** CPU used so far, in microseconds, by what runs now. */
export interface CpuUsed {
  readonly nodes: number;
  readonly redis: number;
  readonly postgres: number;
}

export interface ElasticServers {
  /** Addresses of the nodes that take requests: new ones come at the end, and go from there. */
  readonly urls: readonly string[];
  readonly adminUrls: readonly string[];
  readonly waitMs: { readonly min: number; readonly max: number };
  readonly cluster: RedisCluster;
  readonly databaseUrl: string;
  /** Resolves when the node takes requests. */
  addNode(): Promise<void>;
  /** Takes requests away from the last node, as a balancer does, then ends it with SIGTERM. */
  removeNode(): Promise<void>;
  readCpu(): Promise<CpuUsed>;
  close(): Promise<void>;
}

/** Long enough for a busy machine: nothing is to fail over here. */
const nodeTimeoutMs = 15_000;

/** Starts three primaries with a replica each, a Postgres with the directory, and no node yet. */
export const startElastic = async (directory: Directory): Promise<ElasticServers> => {
  const [cluster, postgres] = await Promise.all([
    startRedisCluster({ nodeTimeoutMs }),
    startPostgres({ ownGroup: true, settings: postgresSettings }),
  ]);
  const folder = createFolder();
  const nodes: ServerProcess[] = [];
  const urls: string[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all([cluster.dispose(), postgres.close()]);
    folder.remove();
  };
  const databaseUrl = await postgres.database('rollcall');
  const stores = { REDIS_URL: cluster.urls.join(), DATABASE_URL: databaseUrl };
  await importDirectory(folder, { directory, stores }, [tier]).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    urls,
    get adminUrls() {
      return nodes.map(({ adminUrl }) => adminUrl);
    },
    waitMs: { min: waitMs, max: waitMs },
    cluster,
    databaseUrl,
    addNode: async () => {
      const node = await startOn(folder, { profileDir: null, stores }, settings);
      nodes.push(node);
      urls.push(node.url);
    },
    removeNode: async () => {
      urls.pop();
      await nodes.pop()?.stop();
    },
    readCpu: async () => {
      const times = await Promise.all(nodes.map(({ child }) => readCpuTime(child)));
      return {
        nodes: times.reduce((sum, { totalUs }) => sum + totalUs, 0),
        redis: cluster.servers.reduce((sum, server) => sum + readProcessUs(server.pid()), 0),
        postgres: readTreeUs(postgres.pid()),
      };
    },
    close,
  };
};

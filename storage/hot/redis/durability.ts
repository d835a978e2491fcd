/**
 * Watches which failures a confirmed commit survives, and whether Redis may evict keys, by the settings and
 * the replicas of the Redis servers.
 *
 * Reads them at the start and then with every pulse, because a replica may be attached, or `appendfsync`
 * changed, at any time. Never changes a setting. Managed servers often forbid `CONFIG`; their durability is
 * unknown, which counts as weak. A server that does not answer keeps its last description. At most one
 * look-up per server is pending.
 */
import type { Redis } from 'ioredis';
import { readUnlessRefused } from './errors.ts';
import type { Link, Primary } from './link.ts';

const synced = 'synced to the disk of Redis';
const everySecond = 'synced to the disk of Redis within about a second';
const unknown = 'as durable as the Redis server, which does not show its settings';

/** Describes the settings. Only `synced` is tested; with others a crash may lose acknowledged changes. */
const describeSync = (appendOnly: string | undefined, sync: string | undefined): string => {
  if (appendOnly === undefined || sync === undefined) return unknown;
  if (appendOnly !== 'yes')
    return 'in the memory of Redis only: appendonly is off, a crash loses everything since its last snapshot';
  if (sync === 'always') return synced;
  if (sync === 'everysec') return `${everySecond}: a crash loses later changes (appendfsync everysec)`;
  const system = 'written by Redis, synced whenever its system decides';
  return `${system}: a crash may lose the newest changes (appendfsync no)`;
};

/** Whether a replica may replace its primary: always in a Cluster, otherwise while one is connected. */
const canFailOver = (info: string): boolean =>
  /^cluster_enabled:1/m.test(info) || /^connected_slaves:[1-9]/m.test(info);

/** Reads two settings; `undefined` is one that the server does not show. */
const readConfig = async (primary: Redis, ...names: readonly [string, string]) => {
  const pairs = (await readUnlessRefused(primary.config('GET', ...names), [])) as readonly string[];
  return (name: string): string | undefined =>
    pairs.includes(name) ? pairs[pairs.indexOf(name) + 1] : undefined;
};

/** Rejects when the server does not answer. */
const readDescription = async (primary: Redis): Promise<string> => {
  const [read, info] = await Promise.all([
    readConfig(primary, 'appendonly', 'appendfsync'),
    readUnlessRefused(primary.info('replication', 'cluster'), ''),
  ]);
  const sync = describeSync(read('appendonly'), read('appendfsync'));
  return canFailOver(info) ? `${sync}; a failover may lose changes that the replica had not received` : sync;
};

export type DurabilityWatch = ReturnType<typeof createDurabilityWatch>;

export const createDurabilityWatch = (link: Link) => {
  const descriptions = new Map<string, string>();
  const pending = new Set<string>();
  const list = () => link.listSlotOwners().map(({ name }) => descriptions.get(name) ?? unknown);
  /** Counts the primaries that may lose confirmed writes now, in a crash or a failover. */
  const countWeak = () => list().filter((description) => description !== synced).length;
  /** Says how durable a confirmed write is, for operators; lists each answer once if primaries differ. */
  const describe = () => [...new Set(list())].sort().join('; ');
  let wasWeak = false;
  const checkPrimary = async ({ name, redis }: Primary): Promise<void> => {
    if (redis === null || pending.has(name)) return;
    pending.add(name);
    // Without an answer the last description stays; the pulse reports the silence.
    const description = await readDescription(redis).catch(() => null);
    pending.delete(name);
    if (description !== null) descriptions.set(name, description);
  };
  /** Asks every primary. Never rejects. */
  const check = async (): Promise<void> => {
    await Promise.all(link.listSlotOwners().map(checkPrimary));
    wasWeak ||= countWeak() > 0;
  };
  return {
    check,
    describe,
    countWeak,
    /** Whether any check found a weak primary. Stays true: a replica that was cut off may be promoted. */
    wasWeak: () => wasWeak,
  };
};

export interface MemorySettings {
  /** `host:port`. */
  readonly server: string;
  /** 0 means no limit. */
  readonly maxmemoryBytes: number;
  /** `maxmemory-policy`, such as `noeviction`; `''` where the server does not show it. */
  readonly policy: string;
}

const readMemory = async (redis: Redis): Promise<Omit<MemorySettings, 'server'>> => {
  const info = await readUnlessRefused(redis.info('memory'), '');
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const bytes = /^maxmemory:(\d+)/m.exec(info)?.[1];
  if (policy !== undefined && bytes !== undefined) return { policy, maxmemoryBytes: Number(bytes) };
  // Servers that refuse `INFO` may allow `CONFIG`.
  const read = await readConfig(redis, 'maxmemory-policy', 'maxmemory');
  return { policy: read('maxmemory-policy') ?? '', maxmemoryBytes: Number(read('maxmemory') ?? '') };
};

/**
 * Reads the memory settings of every connected primary, which say whether Redis may evict counters to make
 * room; ops/watch/eviction-watch.ts judges them. Rejects when a primary does not answer.
 */
export const readMemorySettings = async (link: Link): Promise<readonly MemorySettings[]> => {
  const all = await Promise.all(
    link
      .listSlotOwners()
      .map(async ({ name, redis }) =>
        redis === null ? [] : [{ server: name, ...(await readMemory(redis)) }],
      ),
  );
  return all.flat();
};

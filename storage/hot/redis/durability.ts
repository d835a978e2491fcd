/**
 * Describes which failures a confirmed commit survives, from the settings of the Redis servers.
 *
 * Reads the settings once at start and never changes them. Managed servers often forbid `CONFIG`; the
 * description then says that the durability is unknown. Called by store.ts when it opens.
 */
import type { Redis } from 'ioredis';
import type { Link } from './link.ts';

const synced = 'synced to the disk of Redis';
const everySecond = 'synced to the disk of Redis within about a second';

/** `synced` is what we document and test; with any other setting a crash may lose acknowledged changes. */
const describeSync = (appendOnly: string | undefined, sync: string | undefined): string => {
  if (appendOnly === undefined || sync === undefined)
    return 'as durable as the Redis server, which does not show its settings';
  if (appendOnly !== 'yes')
    return 'in the memory of Redis only: appendonly is off, a crash loses everything since its last snapshot';
  if (sync === 'always') return synced;
  if (sync === 'everysec') return `${everySecond}: a crash loses later changes (appendfsync everysec)`;
  const system = 'written by Redis, synced whenever its system decides';
  return `${system}: a crash may lose the newest changes (appendfsync no)`;
};

const readSettings = async (primary: Redis): Promise<string> => {
  const read = async (name: string): Promise<string | undefined> => {
    const pair = (await primary.config('GET', name).catch(() => [])) as string[];
    return pair[1];
  };
  return describeSync(await read('appendonly'), await read('appendfsync'));
};

export interface Durability {
  /** A description for operators; for a Cluster it joins the different descriptions of its primaries. */
  readonly durability: string;
  /** False only for a single server without replicas that syncs before it answers. Read once, at start. */
  readonly mayLoseTail: boolean;
}

/**
 * Whether a replica may replace this primary: always in a Cluster, otherwise while a replica is connected.
 */
const canFailOver = async (primary: Redis): Promise<boolean> => {
  const info = await primary.info().catch(() => '');
  return /^cluster_enabled:1/m.test(info) || /^connected_slaves:[1-9]/m.test(info);
};

/** Reads the settings of all primaries. A refused question counts as unknown. */
export const readDurability = async (link: Link): Promise<Durability> => {
  const descriptions = new Set(await Promise.all(link.listPrimaries().map(readSettings)));
  const failOvers = await Promise.all(link.listPrimaries().map(canFailOver));
  const tail = failOvers.includes(true)
    ? '; a failover may lose changes that the replica had not received'
    : '';
  const durability = [...descriptions].sort().join('; ') + tail;
  return { durability, mayLoseTail: durability !== synced };
};

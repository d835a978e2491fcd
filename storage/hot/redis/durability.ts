/**
 * What a confirmed commit survives, in words, as the server's own settings say.
 *
 * Reads them once at start; never changes them. A server that does not tell its settings (managed ones forbid
 * `CONFIG`) is described as such: the operator decides. Called by the adapter when it opens.
 */
import type { Redis } from 'ioredis';
import type { Link } from './link.ts';

const synced = 'synced to the disk of Redis';
const everySecond = 'synced to the disk of Redis within about a second';

/** `synced` is what we document and test; everything else may lose an acknowledged tail. */
const describeSync = (appendOnly: string | undefined, sync: string | undefined): string => {
  if (appendOnly === undefined || sync === undefined)
    return 'as durable as the Redis server, which does not tell';
  if (appendOnly !== 'yes')
    return 'in the memory of Redis only: appendonly is off, a crash loses everything since its last snapshot';
  if (sync === 'always') return synced;
  if (sync === 'everysec') return `${everySecond}: a crash loses what came after (appendfsync everysec)`;
  return 'written by Redis, synced when its system likes: a crash may lose the tail (appendfsync no)';
};

const readSettings = async (primary: Redis): Promise<string> => {
  const read = async (name: string): Promise<string | undefined> => {
    const row = (await primary.config('GET', name).catch(() => [])) as string[];
    return row[1];
  };
  return describeSync(await read('appendonly'), await read('appendfsync'));
};

export interface Durability {
  /** In words; of a Cluster, those of all primaries that differ. */
  readonly durability: string;
  /** Whether anything but one server without replicas that syncs before it answers. Asked once, at start. */
  readonly mayLoseTail: boolean;
}

/** Whether a replica may take this primary's place: of a Cluster always, else while there is one. */
const canFailOver = async (primary: Redis): Promise<boolean> => {
  const info = await primary.info().catch(() => '');
  return /^cluster_enabled:1/m.test(info) || /^connected_slaves:[1-9]/m.test(info);
};

export const readDurability = async (link: Link): Promise<Durability> => {
  const words = new Set(await Promise.all(link.listPrimaries().map(readSettings)));
  const failOvers = await Promise.all(link.listPrimaries().map(canFailOver));
  const tail = failOvers.includes(true) ? '; a failover may lose what its replica had not received' : '';
  const durability = [...words].sort().join('; ') + tail;
  return { durability, mayLoseTail: durability !== synced };
};

/**
 * Reads the heads of shards (version, chain hash, backlog size), and what changed since a known version.
 * Where nothing changed, the heads cost two commands.
 *
 * On one server every function that changes something, in every version of the library, sets one key
 * (`moved`) to a value that never comes again, also not after Redis has lost its newest writes. A reader
 * names the value that it knows; while that is still the current one, Redis answers without reading any
 * shard. A Cluster has no key that belongs to all shards: then every head is read.
 */
import type { ShardVersion } from '../../../engine/entity/items.ts';
import { type EntityAddress, type Shard, shardsTotal } from '../../../engine/ids.ts';
import type { BacklogSize, ShardChanges } from '../../../engine/ports.ts';
import type { Link } from './link.ts';
import { type Tag, tags, toTags } from './tags.ts';
import { type ByteCursor, createCursor, takeArray, takeNumber, takeText } from './unpack.ts';

export type ShardHead = ShardVersion & BacklogSize;

/** Reads what changed in each shard since the known version, in the order given. */
export const readChanges = async (
  link: Link,
  known: readonly (ShardVersion & { readonly shard: Shard })[],
): Promise<readonly ShardChanges[]> => {
  const byShard = new Map(known.map((one) => [one.shard, one]));
  const parts = await Promise.all(
    link.groupShards([...byShard.keys()]).map(async (group) => {
      const from = group.map((shard) => byShard.get(shard) as (typeof known)[number]);
      const tags = toTags(group);
      const args = from.flatMap((one, index) => [
        tags[index] as Tag,
        one.generation,
        one.version,
        one.chainHash,
      ]);
      const cursor = createCursor(await link.call('changes', tags, args));
      return from.map(({ version }) => takeChanges(cursor, version));
    }),
  );
  return parts.flat();
};

const takeVersion = (cursor: ByteCursor): ShardVersion => ({
  generation: takeNumber(cursor),
  version: takeNumber(cursor),
  chainHash: takeNumber(cursor),
});

const takeChanges = (cursor: ByteCursor, since: number): ShardChanges => {
  const now = takeVersion(cursor);
  const count = takeArray(cursor);
  let changed: Map<EntityAddress, number> | null = count < 0 ? null : new Map();
  for (let version = since + 1; version <= since + count; version++) {
    const named = takeText(cursor);
    if (named === '') changed = null;
    else for (const address of named.split('\0')) changed?.set(address as EntityAddress, version);
  }
  return { now, changed };
};

/** Below this share of all shards, reading just the requested ones costs no more than reading all once. */
const allFromShare = 1 / 4;

const takeHeads = (cursor: ByteCursor): readonly ShardHead[] | null => {
  let left = takeArray(cursor);
  if (left < 0) return null;
  const heads: ShardHead[] = [];
  for (; left > 0; left -= 5) {
    heads.push({ ...takeVersion(cursor), entities: takeNumber(cursor), votes: takeNumber(cursor) });
  }
  return heads;
};

/** Reads the heads of these tags, whatever the number of shards is. */
export const readHeads = async (link: Link, tags: readonly Tag[]): Promise<readonly ShardHead[]> => {
  const calls = link.isOneServer ? [tags] : tags.map((tag) => [tag]);
  const parts = await Promise.all(
    calls.map(async (some) => {
      const cursor = createCursor(await link.call('heads', some, ['', ...some]));
      takeText(cursor);
      return takeHeads(cursor) ?? [];
    }),
  );
  return parts.flat();
};

export const createHeadsReader = (link: Link) => {
  /** All heads, as they were when `moved` had this value. */
  let known: { readonly moved: string; readonly heads: readonly ShardHead[] } | null = null;
  const readAll = async (): Promise<readonly ShardHead[]> => {
    const before = known;
    const cursor = createCursor(await link.call('heads', tags, [before?.moved ?? '', ...tags]));
    const moved = takeText(cursor);
    const heads = takeHeads(cursor) ?? before?.heads ?? [];
    known = moved === '' ? null : { moved, heads };
    return heads;
  };
  return {
    /** Reads the heads of these shards, in the order given. */
    read: async (shards: readonly Shard[]) => {
      if (!link.isOneServer || shards.length < shardsTotal * allFromShare)
        return readHeads(link, toTags(shards));
      const heads = await readAll();
      return shards.map((shard) => heads[shard] as ShardHead);
    },
  };
};
export type HeadsReader = ReturnType<typeof createHeadsReader>;

/**
 * Changes of a Redis store other than commits: publish, clear, sweep, mend.
 *
 * Owns how much one call of `publish` or `mend` handles, because Redis serves nothing else during a call.
 */
import type { ShardPosition } from '../../../engine/entity/items.ts';
import { type EntityRef, listAllShards, type Shard } from '../../../engine/ids.ts';
import { type Note, toNote } from '../../../engine/tools/notes.ts';
import type { Link } from './link.ts';
import { takeRefs } from './parts.ts';
import { toTag, toTags } from './tags.ts';
import { createCursor, takeArray, takeNumber, takeText } from './unpack.ts';

/** Entities that one call marks as dirty. */
const publishStep = 2_000;

/** Raises one generation, in steps. */
export const publishShard = async (link: Link, shard: Shard, generation: number): Promise<void> => {
  const tag = toTag(shard);
  const runStep = () => link.call('publish', [tag], [tag, generation, publishStep]);
  for (let isUnfinished = true; isUnfinished; ) isUnfinished = Number(await runStep()) === 1;
};

/** Empties a shard if it is still at this position. */
export const clearShard = async (
  link: Link,
  { shard, generation, version }: ShardPosition & { readonly shard: Shard },
): Promise<void> => {
  const tag = toTag(shard);
  await link.call('clear', [tag], [tag, generation, version]);
};

/** Removes producers that have been idle for long. */
export const sweep = async (link: Link, nowMs: number): Promise<void> => {
  const shards = listAllShards();
  const groups = link.groupShards(shards).map((group) => toTags(group));
  await Promise.all(groups.map((tags) => link.call('sweep', tags, [nowMs, ...tags])));
};

/** What a key that was deleted in Redis left out, in the order of `moves.found` in 6-upkeep.lua. */
export const mendedKinds = ['dirty', 'due', 'parts', 'producers', 'votes', 'visitors', 'voters'] as const;
export type Mended = Record<(typeof mendedKinds)[number], number>;

/** Entities of a shard that one call compares: 100,000 listings take seven calls, at one a minute. */
const mendStep = 1_000;

/** Compares records with what is queued for them, a step of each shard at a time. */
export const createMending = (link: Link) => {
  const cursors = new Map<Shard, string>();
  const lost = new Map<Shard, { readonly votes: number; readonly visitors: number }>();
  const mended: Mended = { dirty: 0, due: 0, parts: 0, producers: 0, votes: 0, visitors: 0, voters: 0 };
  const mendShard = async (shard: Shard): Promise<readonly EntityRef[]> => {
    const tag = toTag(shard);
    const args = [tag, cursors.get(shard) ?? '0', mendStep];
    const cursor = createCursor(await link.call('mend', [tag], args));
    cursors.set(shard, takeText(cursor));
    lost.set(shard, { votes: takeNumber(cursor), visitors: takeNumber(cursor) });
    takeArray(cursor);
    for (const kind of mendedKinds) mended[kind] += takeNumber(cursor);
    return takeRefs(cursor);
  };
  const listNotes = (): readonly Note[] => {
    const shards = [...lost].filter(([, { votes, visitors }]) => votes + visitors > 0);
    if (shards.length === 0) return [];
    const sum = (kind: 'votes' | 'visitors') => shards.reduce((all, [, some]) => all + some[kind], 0);
    const keys = shards.map(([shard]) => `${link.prefix}{s${toTag(shard)}}:e`);
    const commands = keys.map((key) => `redis-cli HDEL '${key}' '!lost' '!unseen'`);
    const text =
      `somebody deleted keys in Redis: accepted votes before they were in SQL (${sum('votes')}; totals ` +
      `count them, lists of votes lack them), visitors of listings (${sum('visitors')}; they count as ` +
      `unique once more); nothing brings them back. When you have read this: ${commands.join('; ')}`;
    return [toNote('redis_keys_lost', text)];
  };
  return {
    mended,
    listNotes,
    /** Runs one step of each shard. Resolves to listings whose last votes somebody deleted. */
    mend: async (): Promise<readonly EntityRef[]> => {
      const refs: EntityRef[] = [];
      for (const shard of listAllShards()) refs.push(...(await mendShard(shard)));
      return refs;
    },
  };
};

/**
 * The tables of the embedded hot store, their format number, and the small mirror kept in memory.
 *
 * Owns opening and closing of the LMDB environment. Every write transaction is synced before its promise
 * resolves (`overlappingSync` off: data pages, fdatasync, then the meta page through a synchronous
 * descriptor), and readers see it only after that. The mirror holds generations, versions and last sequence
 * numbers; it is right because one process alone owns the folder, and is read again after every failed write.
 */
import { mkdirSync } from 'node:fs';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { ShardVersion } from '../../../engine/entity/items.ts';
import { StorageError } from '../../../engine/errors.ts';
import type { Shard } from '../../../engine/ids.ts';
import { shardCount, toShard } from '../../../engine/ids.ts';
import type { DecisionsRow, OutboxRow, SlotRow } from './codec.ts';
import { parseProducerKey, toProducerKey, toShardKey } from './keys.ts';

export const formatNumber = 1;

/** Last sequence number, when it came, what was decided. */
export type ProducerRow = readonly [sequence: number, seenMs: number, decisions: DecisionsRow];
/** Times and flags of one voter's votes in one bucket, alternating. */
export type VotesRow = readonly number[];

export interface Tables {
  readonly root: RootDatabase<unknown, string>;
  /** `format` and, per shard, [generation, version, mark]; early folders have no mark. */
  readonly meta: Database<unknown, string>;
  readonly producers: Database<ProducerRow, string>;
  readonly slots: Database<SlotRow, string>;
  readonly dirty: Database<number, string>;
  readonly votes: Database<VotesRow, string>;
  readonly visitors: Database<Buffer, string>;
  readonly outbox: Database<OutboxRow, string>;
}

export interface ShardMirror {
  generation: number;
  version: number;
  mark: number;
  readonly producers: Map<string, { sequence: number; seenMs: number }>;
}

const checkFormat = async ({ root, meta }: Pick<Tables, 'root' | 'meta'>, path: string): Promise<void> => {
  const found = meta.get('format');
  if (found === formatNumber) return;
  if (found === undefined && meta.getCount({ limit: 1 }) === 0) {
    await root.batch(() => {
      meta.put('format', formatNumber);
    });
    return;
  }
  await root.close();
  const detail =
    `${path} holds format ${found ?? 'none'}, this version reads format ${formatNumber}; ` +
    'use the version that wrote it, or another folder';
  throw new StorageError('open', { outcome: 'not_applied', reason: 'bug', detail });
};

/**
 * Opens or creates the store in the folder `path`. Throws a `StorageError` in the operator's words on a
 * foreign format.
 */
export const openTables = async (path: string, mapSizeBytes: number): Promise<Tables> => {
  mkdirSync(path, { recursive: true });
  const root = open<unknown, string>({
    path,
    mapSize: mapSizeBytes,
    noSubdir: false,
    maxDbs: 16,
    overlappingSync: false,
    eventTurnBatching: false,
  });
  const tables: Tables = {
    root,
    meta: root.openDB({ name: 'meta' }),
    producers: root.openDB({ name: 'producers' }),
    slots: root.openDB({ name: 'slots' }),
    dirty: root.openDB({ name: 'dirty' }),
    votes: root.openDB({ name: 'votes' }),
    visitors: root.openDB({ name: 'visitors', dupSort: true, encoding: 'ordered-binary' }),
    outbox: root.openDB({ name: 'outbox' }),
  };
  await checkFormat(tables, path);
  return tables;
};

/** Reads the mirror from disk. Takes time in the number of shards and known producers, not of entities. */
export const readMirror = (tables: Tables): ShardMirror[] => {
  const mirror = Array.from({ length: shardCount }, (_, index): ShardMirror => {
    const row = tables.meta.get(toShardKey(toShard(index))) as readonly number[] | undefined;
    const [generation = 0, version = 0, mark = 0] = row ?? [];
    return { generation, version, mark, producers: new Map() };
  });
  for (const { key, value } of tables.producers.getRange({})) {
    const { shard, producer } = parseProducerKey(key);
    mirror[shard]?.producers.set(producer, { sequence: value[0], seenMs: value[1] });
  }
  return mirror;
};

export const putMeta = (tables: Tables, shard: Shard, row: ShardVersion): void => {
  tables.meta.put(toShardKey(shard), [row.generation, row.version, row.chainHash]);
};

export const readDecisions = (tables: Tables, shard: Shard, producer: string): DecisionsRow | undefined =>
  tables.producers.get(toProducerKey(shard, producer))?.[2];

/** LMDB's statistics leave out the trees of a key's values: a visitor takes about this much there. */
const visitorBytes = 32;

/** Bytes in use, free pages not counted. */
export const measureUsedBytes = (tables: Tables): number => {
  const { meta, producers, slots, dirty, votes, visitors, outbox } = tables;
  const visitorsCount = (visitors.getStats() as { entryCount: number }).entryCount;
  let bytes = visitorsCount * visitorBytes;
  for (const table of [meta, producers, slots, dirty, votes, visitors, outbox]) {
    const stats = table.getStats() as Record<string, number>;
    const { pageSize = 4_096, treeBranchPageCount = 0, treeLeafPageCount = 0, overflowPages = 0 } = stats;
    bytes += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
  }
  return bytes;
};

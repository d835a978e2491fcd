/**
 * The tables of the embedded hot store, their format number, and the mirror of the shards in memory.
 *
 * Opens the LMDB environment. Every write transaction is synced before its promise resolves
 * (`overlappingSync` off: data pages, fdatasync, then the meta page through a synchronous descriptor), and
 * readers see it only after that. The mirror holds generations, versions and producers; it agrees with the
 * store because one process owns the folder.
 */
import { mkdirSync } from 'node:fs';
import { type Database, type DatabaseOptions, open, type RootDatabase } from 'lmdb';
import type { ShardVersion } from '../../../engine/entity/items.ts';
import { createNotAppliedError } from '../../../engine/errors.ts';
import { listAllShards, type Shard } from '../../../engine/ids.ts';
import { createCheckedEncoder } from './checked-encoder.ts';
import { type DecisionsArray, type OutboxArray, type PartArray, packShard, type SlotArray } from './codec.ts';
import { assertHeaders, assertWhole, createFolderError } from './damage.ts';
import { keyEncoder, parseProducerKey, toShardKey } from './keys.ts';

/** The number of the form of this store. A folder with another one is refused. */
export const hotFormat = 1;

/** A producer's last batch: its sequence number, its arrival time, its decisions. */
export type ProducerArray = readonly [sequence: number, seenMs: number, decisions: DecisionsArray];
/** One voter's votes in one bucket: time, flag, time, flag … */
export type VotesArray = readonly number[];

/** A value that is `null` is damaged. */
export interface Tables {
  readonly root: RootDatabase<unknown, string>;
  /**
   * `format` and `journal` (written with the first shard): [last record that the tables hold, seed]; and, per
   * shard, [generation, version, chainHash].
   */
  readonly meta: Database<unknown, string>;
  readonly producers: Database<ProducerArray | null, string>;
  readonly slots: Database<SlotArray | null, string>;
  readonly dirty: Database<number, string>;
  readonly votes: Database<VotesArray | null, string>;
  readonly visitors: Database<Buffer, string>;
  readonly outbox: Database<OutboxArray | null, string>;
  readonly parts: Database<PartArray | null, string>;
  /** Bots by the time at which their parts must be judged. */
  readonly dueParts: Database<number, string>;
}

/** A producer's last batch. Replaced, never changed. */
export interface ProducerState {
  readonly sequence: number;
  readonly seenMs: number;
  readonly decisions: DecisionsArray;
}

export interface ShardMirror {
  generation: number;
  version: number;
  chainHash: number;
  readonly producers: Map<string, ProducerState>;
}

const assertFormat = async ({ root, meta }: Pick<Tables, 'root' | 'meta'>, path: string): Promise<void> => {
  const format = meta.get('format');
  if (format === hotFormat) return;
  if (format === undefined && meta.getCount({ limit: 1 }) === 0) return;
  await root.close();
  const detail =
    `${path} was made by format ${format ?? 'none'}; this program knows ${hotFormat}. ` +
    'Use the version that wrote it, or another folder';
  throw createNotAppliedError('open', 'bug', detail);
};

/** Address space reserved at start; the file grows beyond it by itself. */
const reservedBytes = 2 ** 30;

/**
 * Opens or creates the store in the folder `path`. Rejects with a `StorageError` for the operator if the
 * folder holds another format.
 */
export const openTables = async (
  path: string,
  onDamage: (table: string) => void = () => {},
): Promise<Tables> => {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  assertHeaders(path);
  const root = open<unknown, string>({
    path,
    mapSize: reservedBytes,
    noSubdir: false,
    maxDbs: 16,
    overlappingSync: false,
    eventTurnBatching: false,
  });
  await assertWhole(root, path);
  // lmdb takes both encoders here (README, "encoder" and "keyEncoder"); its types do not say so.
  const openTable = <Value>(
    given: DatabaseOptions & { readonly name: string; readonly encoder?: unknown },
  ) => {
    const options = { ...given, keyEncoder };
    return root.openDB<Value, string>(options);
  };
  const openChecked = <Value>(name: string) =>
    openTable<Value | null>({ name, encoder: createCheckedEncoder(() => onDamage(name)) });
  const tables: Tables = {
    root,
    meta: openChecked('meta'),
    producers: openChecked('producers'),
    slots: openChecked('slots'),
    dirty: openTable({ name: 'dirty' }),
    votes: openChecked('votes'),
    visitors: openTable({ name: 'visitors', dupSort: true, encoding: 'ordered-binary' }),
    outbox: openChecked('outbox'),
    parts: openChecked('parts'),
    dueParts: openTable({ name: 'dueParts' }),
  };
  await assertFormat(tables, path);
  return tables;
};

/**
 * Reads from disk what memory mirrors: the state and the producers of each shard. The time this takes grows
 * with the number of shards and producers, not with that of entities. Throws when one of these is damaged.
 */
export const readMirror = (tables: Tables, path: string): ShardMirror[] => {
  const mirror = listAllShards().map((shard): ShardMirror => {
    const stored = tables.meta.get(toShardKey(shard)) as readonly number[] | null | undefined;
    if (stored === null) throw createFolderError(path, 'meta');
    const [generation = 0, version = 0, chainHash = 0] = stored ?? [];
    return { generation, version, chainHash, producers: new Map() };
  });
  for (const { key, value } of tables.producers.getRange({})) {
    if (value === null) throw createFolderError(path, 'producers');
    const { shard, producer } = parseProducerKey(key);
    const [sequence, seenMs, decisions] = value;
    mirror[shard]?.producers.set(producer, { sequence, seenMs, decisions });
  }
  return mirror;
};

/** The last record of the journal that the tables hold, and the seed of its checksums. */
export interface AppliedRecords {
  readonly sequence: number;
  readonly seed: number;
}

/** Reads these two; `null` for a store without a shard. Throws when they are damaged. */
export const readApplied = ({ meta }: Tables, path: string): AppliedRecords | null => {
  const stored = meta.get('journal') as readonly [number, number] | null | undefined;
  if (stored === null) throw createFolderError(path, 'meta');
  return stored === undefined ? null : { sequence: stored[0], seed: stored[1] };
};

/** Call inside a transaction. */
export const putApplied = ({ meta }: Tables, { sequence, seed }: AppliedRecords): void => {
  meta.put('journal', [sequence, seed]);
};

/**
 * Writes the format, with the first shard. Call inside a transaction, while all records of the journal are in
 * the tables.
 */
export const putFormat = (tables: Tables, applied: AppliedRecords): void => {
  if (tables.meta.get('format') !== undefined) return;
  tables.meta.put('format', hotFormat);
  putApplied(tables, applied);
};

/** Writes a shard's generation, version and chain hash. Call inside a transaction. */
export const putMeta = (tables: Tables, shard: Shard, state: ShardVersion): void => {
  tables.meta.put(toShardKey(shard), packShard(state));
};

/** Counts a table's entries, without those that are only in the journal. */
export const countStored = (table: { getStats(): object }): number =>
  (table.getStats() as { entryCount: number }).entryCount;

/** Counts the dirty slots, and the votes in the outbox, that the tables have. */
export const countStoredBacklog = ({ dirty, outbox }: Tables): { entities: number; votes: number } => ({
  entities: countStored(dirty),
  votes: countStored(outbox),
});

/** Lists all tables of the environment. */
export const listTables = ({ root: _root, ...tables }: Tables) => Object.values(tables);

/** LMDB's statistics omit the trees of duplicate values; a visitor takes about this many bytes there. */
const visitorBytes = 32;

/** Measures the bytes in use, without free pages. */
export const measureUsedBytes = (tables: Tables): number => {
  let bytes = countStored(tables.visitors) * visitorBytes;
  for (const table of listTables(tables)) {
    const stats = table.getStats() as Record<string, number>;
    const { pageSize = 4_096, treeBranchPageCount = 0, treeLeafPageCount = 0, overflowPages = 0 } = stats;
    bytes += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
  }
  return bytes;
};

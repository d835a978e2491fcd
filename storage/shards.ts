/**
 * The number of shards of a directory: SQL stores it, and the hot store takes it over before it counts.
 *
 * The migration that stores it chooses it: 16 for a new directory, 128 for one that was used before. The hot
 * store must have been written with the same number, because the number decides under which key an entity is.
 */
import { newShardCount, oldShardCount } from '../engine/ids.ts';
import type { ShardedStore } from '../engine/ports.ts';
import { claimDatabase, type HotOwner } from './hot-owner.ts';
import type { Sql } from './sql/client.ts';
import { migrate } from './sql/migrate.ts';
import { readValue } from './sql/rows.ts';

/** What a hot store knows of its own number of shards. */
export interface ShardCounts extends ShardedStore {
  /** The numbers of shards with which the store's counters were written; none while it has no counters. */
  listShardCounts(): Promise<readonly number[]>;
  /** Sets what `countShards` returns: once, before the store is used. Until then it is a new directory's. */
  useShardCount(count: number): void;
}

/**
 * Brings the schema up to date, claims the database for the hot store and takes over the number of shards.
 * Rejects with a message for the operator.
 */
export const prepareStores = async (stores: {
  readonly sql: Sql;
  readonly hot: ShardCounts;
  /** Absent where one folder holds both stores. */
  readonly owner?: HotOwner | null;
}): Promise<void> => {
  const { sql, hot, owner } = stores;
  await migrate(sql);
  if (owner) await claimDatabase(sql, owner);
  await takeShardCount(hot, await readShardCount(sql));
};

/** Reads the number of shards of a directory whose schema is up to date. */
export const readShardCount = async (sql: Sql): Promise<number> => {
  const count = await readValue<number>(sql`select number from store_shards`);
  if (count === null) throw new Error('The table store_shards in SQL is empty: restore a backup.');
  return count;
};

/** Sets the number of shards of the hot store, unless it was written with another one. */
export const takeShardCount = async (hot: ShardCounts, count: number): Promise<void> => {
  const other = (await hot.listShardCounts()).find((stored) => stored !== count);
  if (other !== undefined) throw new Error(describeOtherCount(count, other));
  if (count !== newShardCount && count !== oldShardCount) throw new Error(`no store has ${count} shards`);
  hot.useShardCount(count);
};

const describeOtherCount = (count: number, other: number): string =>
  `The directory in SQL has ${count} shards, but the hot store holds counters in ${other} shards: SQL is ` +
  'new, or was replaced, or the two belong to different directories. Nothing was changed, and the counters ' +
  'are still in the hot store. If the database was lost, restore its backup and run "rollcall ops ' +
  'reflush". If the hot store belongs to another directory, point to an empty one.';

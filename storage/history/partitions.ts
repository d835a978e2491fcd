/**
 * The partitions of the history: created before the first row of their time, and dropped as a whole when all
 * of that time has expired. Single rows are deleted only with their listing.
 *
 * What does not get its lock at once is done by a later run.
 */
import type { Sql, Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { locks } from '../sql/locks.ts';
import { dropPartition, listPartitions } from '../sql/partitions.ts';
import { hasTable } from '../sql/rows.ts';
import { type Level, levels, levelTables, type Minute } from './levels.ts';

const dayMinutes = 1_440;
/** Minutes that one partition covers: a day, a week, 52 weeks. */
const partitionMinutes = { fine: dayMinutes, hours: 7 * dayMinutes, days: 364 * dayMinutes } as const;
/** Deleted listings whose rows one run deletes. */
const deletedPerRun = 200;

/** Computes the first minute of the partition that contains `at`; its date is part of the name. */
const computeStart = (level: Level, at: Minute): Minute =>
  Math.floor(at / partitionMinutes[level]) * partitionMinutes[level];

const formatName = (level: Level, start: Minute): string =>
  `${levelTables[level]}_${new Date(start * 60_000).toISOString().slice(0, 10).replaceAll('-', '_')}`;

/** Creates the partition for rows of this time, unless it exists. Rejects with a `StorageError`. */
export const createHistoryPartition = (sql: Sql, level: Level, at: Minute): Promise<void> =>
  asStorage('history.partition', async () => {
    const start = computeStart(level, at);
    if (!(await hasTable(sql, formatName(level, start))))
      await sql.begin((transaction) => attachPartition(transaction, level, start));
  });

/** Creates a table and attaches it, which unlike creating it as a partition does not stop readers. */
const attachPartition = async (transaction: Transaction, level: Level, start: Minute): Promise<void> => {
  const name = formatName(level, start);
  await transaction`select pg_advisory_xact_lock(${locks.partitions})`;
  if (await hasTable(transaction, name)) return;
  const end = start + partitionMinutes[level];
  const parent = levelTables[level];
  await transaction`create table ${transaction(name)} (like ${transaction(parent)} including all)`;
  await transaction.unsafe(
    `alter table ${parent} attach partition ${name} for values from (${start}) to (${end})`,
  );
};

/**
 * Drops the partitions whose rows are all older than `before`, with their entries of `history_times`.
 * Resolves to their number. A partition in use is left to a later run.
 */
export const dropHistoryBefore = async (sql: Sql, level: Level, before: Minute): Promise<number> => {
  const end = computeStart(level, before);
  let dropped = 0;
  for (const name of await asStorage('history.list', () => listPartitions(sql, levelTables[level]))) {
    if (name >= formatName(level, end)) break;
    const isDropped = await dropPartition(
      sql,
      name,
      (transaction) => transaction`delete from history_times where level = ${level} and at < ${end}`,
    );
    if (!isDropped) break;
    dropped += 1;
  }
  return dropped;
};

/** Deletes the rows of listings that were deleted, some listings per run. */
export const purgeDeletedListings = async (sql: Sql, signal: AbortSignal): Promise<void> => {
  const rows = await asStorage(
    'history.deleted',
    () => sql<{ incarnation: number }[]>`select incarnation from history_deleted limit ${deletedPerRun}`,
  );
  for (const { incarnation } of rows) {
    signal.throwIfAborted();
    await asStorage('history.purge', () =>
      sql.begin((transaction) => purgeListing(transaction, incarnation)),
    );
  }
};

const purgeListing = async (transaction: Transaction, incarnation: number): Promise<void> => {
  for (const level of levels) {
    await transaction`delete from ${transaction(levelTables[level])} where incarnation = ${incarnation}`;
  }
  await transaction`delete from vote_months where incarnation = ${incarnation}`;
  await transaction`delete from history_deleted where incarnation = ${incarnation}`;
};

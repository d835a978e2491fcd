/**
 * Partitions of any table: lists and drops them. No lock that others meet lasts longer than `lockMs`.
 */
import type { Queryable, Sql, Transaction } from './client.ts';
import { runUnlessBusy } from './errors.ts';
import { readColumn } from './rows.ts';

const lockMs = 100;

/** Lists the names of a table's partitions in ascending order. */
export const listPartitions = (sql: Queryable, table: string): Promise<readonly string[]> =>
  readColumn<string>(sql`
    select child.relname as name from pg_inherits join pg_class as child on child.oid = inhrelid
    where inhparent = ${table}::regclass order by child.relname`);

/**
 * Drops a partition, and does the rest in the same transaction. Resolves to false if others used it for too
 * long.
 */
export const dropPartition = (
  sql: Sql,
  name: string,
  rest?: (transaction: Transaction) => Promise<unknown>,
): Promise<boolean> =>
  runUnlessBusy('partition.drop', () =>
    sql.begin(async (transaction) => {
      await transaction.unsafe(`set local lock_timeout = ${lockMs}`);
      await transaction`drop table if exists ${transaction(name)}`;
      await rest?.(transaction);
    }),
  );

/**
 * Monthly partitions of the tables of votes and of their origins, created before the first vote of a month is
 * written; those of origins are dropped when the whole month has expired.
 *
 * Runs outside the flush transaction, because it locks the default partition for a moment. If a partition
 * cannot be created now, rows go to the default partition and none is lost; the next flush tries again and
 * moves those rows.
 */
import type { OutboxVote } from '../../engine/ports.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { asStorage, runUnlessBusy } from '../sql/errors.ts';
import { locks } from '../sql/locks.ts';
import { dropPartition, listPartitions } from '../sql/partitions.ts';
import { changeInSteps, hasTable, rowsPerStep } from '../sql/rows.ts';
import { hasOrigins } from './flush.ts';

export type Partitions = ReturnType<typeof createPartitions>;

/** Further missing months of one flush are left to the default partition. */
const monthsPerFlushMax = 4;
/** Votes outside these years are a mistake; they get no partition. */
const years = { first: 2015, last: 2200 };

/** Months since year 0. */
type Month = number;

const toMonth = (atMs: number): Month => {
  const date = new Date(atMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
};
const isPlausible = (month: Month): boolean => month >= years.first * 12 && month < years.last * 12;
/** The tables with a partition for each month, and their columns of time. */
const timeColumns = { votes: 'created_at', vote_origins: 'at' } as const;
type MonthlyTable = keyof typeof timeColumns;

/** Formats a name. Those of one table sort as their months; the default partition is the last. */
const formatPartitionName = (table: MonthlyTable, month: Month): string =>
  `${table}_${Math.floor(month / 12)}_${String((month % 12) + 1).padStart(2, '0')}`;
const computeMonthStart = (month: Month): string =>
  new Date(Date.UTC(Math.floor(month / 12), month % 12)).toISOString();

export const createPartitions = (sql: Sql) => {
  const existing = { votes: new Set<Month>(), vote_origins: new Set<Month>() };
  const prepareTable = async (table: MonthlyTable, votes: readonly Pick<OutboxVote, 'atMs'>[]) => {
    const known = existing[table];
    const months = new Set<Month>();
    for (const { atMs } of votes) {
      const month = toMonth(atMs);
      if (!known.has(month) && isPlausible(month)) months.add(month).add(month + 1);
    }
    for (const month of [...months].slice(0, monthsPerFlushMax)) {
      if (known.has(month) || (await createPartition(sql, table, month))) known.add(month);
    }
  };
  return {
    /**
     * Creates the partitions of these votes' months and of the months after. Resolves, too, when it could not
     * get a lock.
     */
    async prepare(votes: readonly Pick<OutboxVote, 'atMs' | 'origin'>[]): Promise<void> {
      await prepareTable('votes', votes);
      if (hasOrigins(votes)) await prepareTable('vote_origins', votes);
    },
  };
};

/** Resolves to true if the partition exists now. */
const createPartition = (sql: Sql, table: MonthlyTable, month: Month): Promise<boolean> =>
  runUnlessBusy('ledger.partition', () =>
    sql.begin((transaction) => createAndFill(transaction, table, month)),
  );

/**
 * Creates a separate table, moves the month's rows from the default partition, then attaches it. Rows must
 * move first, because attaching fails while the default partition holds rows of that month.
 */
const createAndFill = async (transaction: Transaction, table: MonthlyTable, month: Month): Promise<void> => {
  const name = formatPartitionName(table, month);
  const [from, to] = [computeMonthStart(month), computeMonthStart(month + 1)];
  const [rest, column] = [transaction(`${table}_default`), transaction(timeColumns[table])];
  await transaction`select pg_advisory_xact_lock(${locks.partitions})`;
  if (await hasTable(transaction, name)) return;
  await transaction`lock table ${rest} in access exclusive mode`;
  await transaction`create table ${transaction(name)} (like ${transaction(table)} including all)`;
  await transaction`
    with moved as (delete from ${rest} where ${column} >= ${from} and ${column} < ${to} returning *)
    insert into ${transaction(name)} select * from moved`;
  await transaction.unsafe(
    `alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`,
  );
};

/**
 * Removes the origins of votes from before a time, and what was found in them: whole months by dropping their
 * partition, other rows in bounded steps. A partition in use is left to a later run.
 */
export const purgeOrigins = (sql: Sql, beforeMs: number, signal: AbortSignal): Promise<void> =>
  asStorage('origins.purge', async () => {
    const before = new Date(beforeMs).toISOString();
    const firstKept = formatPartitionName('vote_origins', toMonth(beforeMs));
    for (const name of await listPartitions(sql, 'vote_origins')) {
      if (signal.aborted) return;
      if (name < firstKept) await dropPartition(sql, name);
      else
        await changeInSteps(
          () => sql`
            delete from ${sql(name)} where ctid in (
              select ctid from ${sql(name)} where at < ${before} limit ${rowsPerStep})`,
          signal,
        );
    }
    await sql`delete from vote_suspects where last_at < ${before}`;
    await sql`delete from vote_counts where hour < ${before}`;
    await sql`
      update dead_letters set body = body - 'origin'
      where source = 'vote' and body ? 'origin' and (body ->> 'atMs')::float8 < ${beforeMs}`;
  });

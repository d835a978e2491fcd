/**
 * Monthly partitions of the votes table, created before the first vote of a month is written.
 *
 * Runs outside the flush transaction, because it locks the default partition for a moment. If a partition
 * cannot be created now, votes go to `votes_default` and no vote is lost; the next flush tries again and
 * moves those rows.
 */
import type { OutboxVote } from '../../engine/ports.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { locks } from './locks.ts';

export interface Partitions {
  /** Creates the partitions of these votes' months and of the months after. A held lock is no failure. */
  prepare(votes: readonly Pick<OutboxVote, 'atMs'>[]): Promise<void>;
}

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
const formatPartitionName = (month: Month): string =>
  `votes_${Math.floor(month / 12)}_${String((month % 12) + 1).padStart(2, '0')}`;
const computeMonthStart = (month: Month): string =>
  new Date(Date.UTC(Math.floor(month / 12), month % 12)).toISOString();

export const createPartitions = (sql: Sql): Partitions => {
  const existing = new Set<Month>();
  return {
    async prepare(votes) {
      const months = new Set<Month>();
      for (const { atMs } of votes) {
        const month = toMonth(atMs);
        if (!existing.has(month) && isPlausible(month)) months.add(month).add(month + 1);
      }
      for (const month of [...months].slice(0, monthsPerFlushMax)) {
        if (existing.has(month) || (await createPartition(sql, month))) existing.add(month);
      }
    },
  };
};

/** Resolves to true if the partition exists now. */
const createPartition = async (sql: Sql, month: Month): Promise<boolean> => {
  try {
    await sql.begin((transaction) => createAndFill(transaction, month));
    return true;
  } catch (error) {
    const failure = toStorageError('ledger.partition', error);
    if (failure.reason === 'busy') return false;
    throw failure;
  }
};

/**
 * Creates a separate table, moves the month's rows from the default partition, then attaches it. Rows must
 * move first, because attaching fails while the default partition holds rows of that month.
 */
const createAndFill = async (transaction: Transaction, month: Month): Promise<void> => {
  const name = formatPartitionName(month);
  const [from, to] = [computeMonthStart(month), computeMonthStart(month + 1)];
  await transaction`select pg_advisory_xact_lock(${locks.partitions})`;
  const [present] = await transaction<{ found: boolean }[]>`select to_regclass(${name}) is not null as found`;
  if (present?.found) return;
  await transaction`lock table votes_default in access exclusive mode`;
  await transaction`create table ${transaction(name)} (like votes including all)`;
  await transaction`
    with moved as (delete from votes_default where created_at >= ${from} and created_at < ${to} returning *)
    insert into ${transaction(name)} select * from moved`;
  await transaction.unsafe(
    `alter table votes attach partition ${name} for values from ('${from}') to ('${to}')`,
  );
};

/**
 * Monthly partitions of the votes table, made before the first vote of a month is written.
 *
 * Not inside the flush transaction: making one locks the default partition for a moment. When it cannot be
 * made now, votes fall into `votes_default`, nothing is lost, and the next round tries again; rows that lie
 * there are moved when the partition is made. Called by storage/ledger/ledger.ts before a round with votes,
 * and by imports.
 */
import type { OutboxVote } from '../../engine/ports.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { locks } from './locks.ts';

export interface Partitions {
  /** Makes the months of these votes and the months after them. Never rejects because a lock is held. */
  prepare(votes: readonly Pick<OutboxVote, 'atMs'>[]): Promise<void>;
}

/** More than this many unknown months in one round are left to the default partition. */
const monthsPerRoundMax = 4;
/** Votes outside of these years are a mistake; they need no table of their own. */
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
  const known = new Set<Month>();
  return {
    async prepare(votes) {
      const wanted = new Set<Month>();
      for (const { atMs } of votes) {
        const month = toMonth(atMs);
        if (!known.has(month) && isPlausible(month)) wanted.add(month).add(month + 1);
      }
      for (const month of [...wanted].slice(0, monthsPerRoundMax)) {
        if (known.has(month) || (await makePartition(sql, month))) known.add(month);
      }
    },
  };
};

/** True when the partition is there. */
const makePartition = async (sql: Sql, month: Month): Promise<boolean> => {
  try {
    await sql.begin((transaction) => makeAndFill(transaction, month));
    return true;
  } catch (error) {
    const failure = toStorageError('ledger.partition', error);
    if (failure.reason === 'busy') return false;
    throw failure;
  }
};

/**
 * A table made aside, filled from the default partition, then attached: attaching looks for rows left behind.
 */
const makeAndFill = async (transaction: Transaction, month: Month): Promise<void> => {
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

/**
 * The numbers of a listing's votes: dense, from 1, in the order of their commits.
 *
 * A transaction that writes votes of a listing first locks its row in `totals` and takes the numbers from
 * there, so the order of the commits is the order of the numbers, and no number is left out. A number never
 * changes. New votes get their numbers in flush.ts, imported votes in import/write.ts. This file numbers rows
 * that have none because an earlier version wrote them, under the same lock; votes of a deleted listing stay
 * without a number. Called by ops/jobs.
 */

import type { Sql, Transaction } from '../sql/client.ts';
import { readColumn, readNumber } from '../sql/rows.ts';
import { lockTotals } from './totals.ts';
import { buildDeliveries } from './webhook-deliveries.ts';

/** Rows numbered by one transaction, which holds up the flush of that listing. */
const rowsPerStep = 2_000;

/**
 * Numbers the rows of one listing that have none, oldest first, in bounded transactions; without deliveries
 * while webhooks are switched off. Resolves to how many it numbered. *Ledger* when it resolves.
 */
export const assignNumbers = async (
  sql: Sql,
  incarnation: number,
  { writesDeliveries = true }: { readonly writesDeliveries?: boolean } = {},
): Promise<number> => {
  let numbered = 0;
  for (;;) {
    const rows = await sql.begin((transaction) => numberStep(transaction, incarnation, writesDeliveries));
    numbered += rows;
    if (rows < rowsPerStep) return numbered;
  }
};

const numberStep = async (transaction: Transaction, incarnation: number, writesDeliveries: boolean) => {
  const watched = (await lockTotals(transaction, [incarnation])) && writesDeliveries;
  return readNumber(transaction`
    with unnumbered as (
      select itag, created_at,
        row_number() over (order by created_at, author collate "C", itag) as position
      from votes where incarnation = ${incarnation} and log_number is null
      order by created_at, author collate "C", itag limit ${rowsPerStep}
    ), counted as (
      update totals set votes_logged = votes_logged + (select count(*) from unnumbered)
      where incarnation = ${incarnation} and exists (select from unnumbered)
      returning votes_logged - (select count(*) from unnumbered) as before
    ), written as (
      update votes set log_number = counted.before + unnumbered.position
      from unnumbered, counted
      where votes.itag = unnumbered.itag and votes.created_at = unnumbered.created_at
      returning incarnation, votes.created_at, author, upvote, log_number
    )
    ${watched ? buildDeliveries(transaction, { isBacklogFull: false, isLate: true }) : transaction``}
    select count(*) as numbered from written`);
};

/** More unnumbered rows are not counted. */
const unnumberedMax = 100_000;

/** Counts the rows without a number of listings that still exist. */
export const countUnnumbered = (sql: Sql): Promise<number> =>
  readNumber(sql`
    select count(*) from (
      select from votes join totals using (incarnation) where log_number is null limit ${unnumberedMax}
    ) as unnumbered`);

/** Lists existing listings with unnumbered rows; at most `limit`. */
export const listUnnumbered = (sql: Sql, limit: number): Promise<readonly number[]> =>
  readColumn<number>(sql`
    select distinct incarnation from votes join totals using (incarnation)
    where log_number is null limit ${limit}`);

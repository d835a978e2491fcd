/**
 * What an operator reads when something fails: runs of the fleet's jobs, and rows that SQL refused.
 *
 * The rows are written by storage/nodes/job-runs.ts and storage/ledger/dead-letters.ts, which also tries
 * refused rows again.
 */
import { retryDeadLetters } from '../../ledger/dead-letters.ts';
import { createLedger } from '../../ledger/ledger.ts';
import type { Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { readPage } from './pages.ts';

export interface RunRow {
  readonly name: string;
  readonly due_at: Date;
  readonly node: string;
  readonly attempts: number;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  /** The error of the last attempt; `''` for none. */
  readonly error: string;
}
export interface DeadLetter {
  readonly id: number;
  readonly created_at: Date;
  readonly newest_at: Date;
  /** How often SQL refused the rows of this listing or vote. */
  readonly refusals: number;
  readonly source: string;
  readonly reason: string;
  readonly body: unknown;
}

const listRuns = (sql: Sql, page: number) => {
  const select = sql`
    select name, due_at, node, attempts, started_at, finished_at, error from job_runs
    order by due_at desc, name`;
  return readPage<RunRow>(sql, { select, table: 'job_runs' }, page);
};

const listDeadLetters = (sql: Sql, page: number) => {
  const select = sql`
    select id, created_at, newest_at, refusals, source, reason, body from dead_letters
    order by newest_at desc, id desc`;
  return readPage<DeadLetter>(sql, { select, table: 'dead_letters' }, page);
};

const retry = (sql: Sql, writesDeliveries: boolean) =>
  retryDeadLetters(sql, createLedger(sql, { writesDeliveries }));

/** Lists are newest first; pages count from 1. */
export const createFailures = (sql: Sql) =>
  bindStorage('failures', sql, { listRuns, listDeadLetters, retryDeadLetters: retry });

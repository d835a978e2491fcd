/**
 * What an operator looks at when something is wrong: runs of the fleet's jobs, and rows that SQL refused.
 *
 * Read only; whose rows they are is said in storage/nodes/job-runs.ts and storage/ledger/dead-letters.ts.
 * Called by operator-side.ts.
 */
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';

export interface RunRow {
  readonly name: string;
  readonly due_at: Date;
  readonly node: string;
  readonly attempts: number;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  /** Of the last attempt; `''` for none. */
  readonly error: string;
}
export interface DeadLetter {
  readonly id: number;
  readonly created_at: Date;
  readonly newest_at: Date;
  /** How often SQL refused this listing or vote. */
  readonly refusals: number;
  readonly source: string;
  readonly reason: string;
  readonly body: unknown;
}

/** Newest first. */
export interface Failures {
  listRuns(page: number): Promise<readonly RunRow[]>;
  listDeadLetters(page: number): Promise<readonly DeadLetter[]>;
}

const troublesPerPage = 50;

export const createFailures = (sql: Sql): Failures => ({
  listRuns: (page) =>
    asStorage(
      'troubles.runs',
      () => sql<RunRow[]>`
        select name, due_at, node, attempts, started_at, finished_at, error from job_runs
        order by due_at desc, name limit ${troublesPerPage} offset ${(page - 1) * troublesPerPage}`,
    ),
  listDeadLetters: (page) =>
    asStorage(
      'troubles.deadLetters',
      () => sql<DeadLetter[]>`
        select id, created_at, newest_at, refusals, source, reason, body from dead_letters
        order by newest_at desc, id desc limit ${troublesPerPage} offset ${(page - 1) * troublesPerPage}`,
    ),
});

/**
 * Coordinates jobs that run once for all nodes, with leases in the table `job_runs`.
 *
 * A run belongs to one due time of a job. The node that inserts its row owns the run until its lease ends; an
 * unfinished run then goes to the next node that claims it. A due time is never run if a later one was
 * claimed, or if the database's clock has not reached it. Leases use the database's clock too, so nodes need
 * not agree on the time, and a node whose clock is ahead cannot reset the votes of the current month. Works
 * with every kind of store, because SQL is part of each.
 */
import type { Sql } from '../sql/client.ts';
import { bindStorage } from '../sql/errors.ts';
import { hasRow } from '../sql/rows.ts';

export interface JobInstant {
  readonly name: string;
  readonly dueAtMs: number;
}
/** A run that this node owns while the lease lasts. */
export interface JobClaim extends JobInstant {
  /** From 1; distinguishes this run from earlier ones of the same due time. */
  readonly attempt: number;
}

const errorLengthMax = 500;

export const createJobRuns = (sql: Sql, node: string) =>
  bindStorage('jobs', { sql, node }, { begin, claim, extend, finish, fail, purge });

export type JobRuns = ReturnType<typeof createJobRuns>;

interface JobRunsParts {
  readonly sql: Sql;
  readonly node: string;
}

const toDate = ({ dueAtMs }: JobInstant): Date => new Date(dueAtMs);

/**
 * Makes this due time the first one of a new job, so that earlier ones do not count as missed. Does nothing
 * for a known job, or while the due time is in the future.
 */
const begin = ({ sql, node }: JobRunsParts, instant: JobInstant): Promise<unknown> => sql`
  insert into job_runs (name, due_at, node, attempts, lease_until, finished_at)
  select ${instant.name}, ${toDate(instant)}, ${node}, 0, now(), now()
  where ${toDate(instant)}::timestamptz <= now()
    and not exists (select from job_runs where name = ${instant.name})
  on conflict do nothing`;

/**
 * Claims a run. `null` if it is finished, owned by another node, older than the newest one, or not due yet.
 */
const claim = async ({ sql, node }: JobRunsParts, instant: JobInstant, leaseMs: number) => {
  const { name } = instant;
  const [row] = await sql<{ attempts: number }[]>`
    insert into job_runs (name, due_at, node, lease_until)
    select ${name}, ${toDate(instant)}, ${node}, now() + make_interval(secs => ${leaseMs / 1000})
    where ${toDate(instant)}::timestamptz <= now() and not exists (
      select from job_runs where name = ${name} and due_at > ${toDate(instant)}::timestamptz)
    on conflict (name, due_at) do update set node = excluded.node, started_at = now(),
      lease_until = excluded.lease_until, attempts = job_runs.attempts + 1
      where job_runs.finished_at is null and job_runs.lease_until < now()
    returning attempts`;
  return row ? { ...instant, attempt: row.attempts } : null;
};

/** Builds the condition for the row of this claim, while the claim is valid. */
const buildOwnRunCondition = ({ sql, node }: JobRunsParts, run: JobClaim) => sql`
  name = ${run.name} and due_at = ${toDate(run)} and node = ${node} and attempts = ${run.attempt}
  and finished_at is null`;

/** Extends the lease. False if this node no longer owns the run. */
const extend = (parts: JobRunsParts, run: JobClaim, leaseMs: number): Promise<boolean> =>
  hasRow(parts.sql`
    update job_runs set lease_until = now() + make_interval(secs => ${leaseMs / 1000})
    where ${buildOwnRunCondition(parts, run)} returning name`);

/** Marks an owned run as finished. */
const finish = async (parts: JobRunsParts, run: JobClaim): Promise<void> => {
  await parts.sql`update job_runs set finished_at = now(), error = ''
    where ${buildOwnRunCondition(parts, run)}`;
};

/** Ends an attempt with an error: any node may claim the run again after `pauseMs`. */
const fail = (
  parts: JobRunsParts,
  run: JobClaim,
  { error, pauseMs }: { error: string; pauseMs: number },
): Promise<unknown> => parts.sql`
  update job_runs set error = ${error.slice(0, errorLengthMax)},
    lease_until = now() + make_interval(secs => ${pauseMs / 1000})
  where ${buildOwnRunCondition(parts, run)}`;

/** Deletes runs that ended long ago, of all jobs or of one; except the newest of each job. */
const purge = ({ sql }: JobRunsParts, days: number, name?: string): Promise<unknown> => sql`
  delete from job_runs
  where finished_at < now() - make_interval(days => ${days})
    ${name === undefined ? sql`` : sql`and name = ${name}`} and exists (
    select from job_runs as newer where newer.name = job_runs.name and newer.due_at > job_runs.due_at)`;

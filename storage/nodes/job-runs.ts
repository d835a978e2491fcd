/**
 * Which job of the fleet ran when, and who may run it now: the table `job_runs`.
 *
 * A run belongs to one instant at which the job was due. Whoever inserts its row has it, until the lease
 * ends; a run that was not finished by then goes to the next who asks. An instant older than one that was
 * taken already is never run, nor one that the database's clock has not reached. Leases are by that clock,
 * too: nodes need not agree on the time, and one whose clock is ahead resets no votes of a month that lasts.
 * Holds for every kind of store, because SQL is there in each of them. Called by ops/jobs.
 */
import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';

export interface JobInstant {
  readonly name: string;
  readonly dueAtMs: number;
}
/** A run that is ours while the lease lasts. */
export interface JobClaim extends JobInstant {
  /** From 1; tells this run from an earlier one of the same instant. */
  readonly attempt: number;
}

export interface JobRuns {
  /**
   * Makes this instant the first that counts, if the job is new here: earlier ones were not missed. Nothing
   * while it is still to come.
   */
  begin(instant: JobInstant): Promise<void>;
  /** `null` when it is done, or somebody else's, or older than the newest, or still to come. */
  claim(instant: JobInstant, leaseMs: number): Promise<JobClaim | null>;
  /** False when the run was taken from us. */
  extend(claim: JobClaim, leaseMs: number): Promise<boolean>;
  finish(claim: JobClaim): Promise<void>;
  /** Lets go of it: the next attempt may be made after `pauseMs`. */
  fail(claim: JobClaim, why: { readonly error: string; readonly pauseMs: number }): Promise<void>;
  /** Forgets runs that ended long ago, but the newest of each job. */
  purge(olderThanDays: number): Promise<void>;
}

const errorLengthMax = 500;

export const createJobRuns = (sql: Sql, node: string): JobRuns => ({
  begin: (instant) => asStorage('jobs.begin', () => begin(sql, node, instant)),
  claim: (instant, leaseMs) => asStorage('jobs.claim', () => claim({ sql, node }, instant, leaseMs)),
  extend: (run, leaseMs) => asStorage('jobs.extend', () => extend({ sql, node }, run, leaseMs)),
  finish: (run) => asStorage('jobs.finish', () => finish({ sql, node }, run)),
  fail: (run, why) => asStorage('jobs.fail', () => fail({ sql, node }, run, why)),
  purge: (days) => asStorage('jobs.purge', () => purge(sql, days)),
});

interface JobRunsParts {
  readonly sql: Sql;
  readonly node: string;
}

const toDate = ({ dueAtMs }: JobInstant): Date => new Date(dueAtMs);

const begin = async (sql: Sql, node: string, instant: JobInstant): Promise<void> => {
  await sql`
    insert into job_runs (name, due_at, node, attempts, lease_until, finished_at)
    select ${instant.name}, ${toDate(instant)}, ${node}, 0, now(), now()
    where ${toDate(instant)}::timestamptz <= now()
      and not exists (select from job_runs where name = ${instant.name})
    on conflict do nothing`;
};

const claim = async (
  { sql, node }: JobRunsParts,
  instant: JobInstant,
  leaseMs: number,
): Promise<JobClaim | null> => {
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

/** The row of a claim, while it is still the claim's. */
const buildOwnRunCondition = ({ sql, node }: JobRunsParts, run: JobClaim) => sql`
  name = ${run.name} and due_at = ${toDate(run)} and node = ${node} and attempts = ${run.attempt}
  and finished_at is null`;

const extend = async (parts: JobRunsParts, run: JobClaim, leaseMs: number): Promise<boolean> => {
  const rows = await parts.sql`
    update job_runs set lease_until = now() + make_interval(secs => ${leaseMs / 1000})
    where ${buildOwnRunCondition(parts, run)} returning name`;
  return rows.length > 0;
};

const finish = async (parts: JobRunsParts, run: JobClaim): Promise<void> => {
  await parts.sql`update job_runs set finished_at = now(), error = ''
    where ${buildOwnRunCondition(parts, run)}`;
};

const fail = async (
  parts: JobRunsParts,
  run: JobClaim,
  { error, pauseMs }: { readonly error: string; readonly pauseMs: number },
): Promise<void> => {
  await parts.sql`
    update job_runs set error = ${error.slice(0, errorLengthMax)},
      lease_until = now() + make_interval(secs => ${pauseMs / 1000})
    where ${buildOwnRunCondition(parts, run)}`;
};

const purge = async (sql: Sql, days: number): Promise<void> => {
  await sql`
    delete from job_runs
    where finished_at < now() - make_interval(days => ${days}) and exists (
      select from job_runs as newer where newer.name = job_runs.name and newer.due_at > job_runs.due_at)`;
};

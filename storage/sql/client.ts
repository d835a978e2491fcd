/**
 * The one SQL client of the project: `postgres`, with one set of options for a server and for the embedded
 * store.
 *
 * Types of results: `bigint` is a number (a decimal string beyond 2^53 − 1, which we never write), `numeric`
 * an exact decimal string, `timestamptz` a Date (microseconds are cut off, so never page by one), `jsonb` is
 * parsed, `bytea` is a Buffer. Callers wrap failures with `toStorageError` (errors.ts); this file does not,
 * so that SQLSTATEs stay readable.
 */
import postgres from 'postgres';
import { limits } from '../../engine/limits.ts';
import { createAdmission } from './admission.ts';
import { admitSql } from './guard.ts';
import { withSafeTransactions } from './transactions.ts';

/** Results of our own parsers, for SQL types that `postgres` would leave as text. */
export type SqlTypes = { bigint: number };
/** A pool: statements, `begin` for transactions, `end` to close. */
export type Sql = postgres.Sql<SqlTypes>;
/** One transaction, as `sql.begin` hands it out. */
export type Transaction = postgres.TransactionSql<SqlTypes>;
/** Runs statements: a pool or a transaction. */
export type Queryable = postgres.ISql<SqlTypes>;

/** Two pools over the same connections, each with a queue of its own in the admission. */
export interface Pool {
  /** For the node's own work. */
  readonly sql: Sql;
  /** For clients' requests: however many wait, every other turn goes to the node's own work. */
  readonly requestSql: Sql;
}

export interface ConnectOptions {
  /** Connections of this process. */
  readonly connectionsMax?: number;
  /** The server cancels a statement after this time; the outcome is definite (57014). */
  readonly statementTimeoutMs?: number;
  /** The server gives up waiting for a lock after this time (55P03). */
  readonly lockTimeoutMs?: number;
  /** Connecting is given up after this time. */
  readonly connectSecondsMax?: number;
}

const parseBigint = (text: string): number => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : (text as unknown as number);
};

/** Options shared by both kinds of connection. Statements are prepared once per connection. */
export const commonOptions = {
  connect_timeout: 5,
  backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 2),
  onnotice: () => {},
  types: {
    bigint: { to: 20, from: [20], serialize: (value: number) => String(value), parse: parseBigint },
  },
} satisfies postgres.Options<{ bigint: postgres.PostgresType<number> }>;

/**
 * A pool on a Postgres server (version 15 or later). Connects on first use and again after a loss; a
 * statement in flight at a loss is rejected, never repeated.
 */
export const connectSql = (url: string, options: ConnectOptions = {}): Sql => connectPool(url, options).sql;

/** Connects like `connectSql`; the pool also has the queue of clients' requests. */
export const connectPool = (url: string, options: ConnectOptions = {}): Pool => {
  const connections = options.connectionsMax ?? 10;
  return createAdmittedPool(withSafeTransactions(connect(url, connections, options)), connections);
};

/** Statements and transactions that may wait in one queue; further ones are refused. Memory allows more. */
export const waitingMax = 1_000;
/** Unanswered statements per connection: enough that the server never waits for this process. */
const pipelineMax = 4;

/** Puts admission control in front of a driver's pool. */
export const createAdmittedPool = (sql: Sql, connections: number): Pool => {
  const requestWaitMsMax = limits.requestDeadlineMs;
  const admission = createAdmission({ connections, pipelineMax, waitingMax, requestWaitMsMax });
  return { sql: admitSql(sql, admission, 'own'), requestSql: admitSql(sql, admission, 'request') };
};

const connect = (url: string, connections: number, options: ConnectOptions): Sql =>
  postgres(url, {
    ...commonOptions,
    max: connections,
    connect_timeout: options.connectSecondsMax ?? 3,
    // The circuit breaker paces attempts; a longer pause here would only prolong an outage.
    backoff: () => 0.05,
    connection: {
      application_name: 'rollcall',
      TimeZone: 'UTC',
      // Our statements touch few rows. Compiling one takes longer than running it.
      jit: 'off',
      statement_timeout: options.statementTimeoutMs ?? 5_000,
      // Longer than the server takes to find a deadlock, so that the loser is reported as such and retried.
      lock_timeout: options.lockTimeoutMs ?? 2_000,
      idle_in_transaction_session_timeout: 60_000,
    },
  });

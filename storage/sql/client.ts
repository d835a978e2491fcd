/**
 * The one SQL client of the project: `postgres`, with one set of options for a server and for the embedded
 * store.
 *
 * What statements give back, everywhere: `bigint` is a number (beyond 2^53 − 1, which we never write, a
 * decimal string), `numeric` a decimal string to the digit, `timestamptz` a Date (milliseconds; microseconds
 * are cut, so never page on one), `jsonb` parsed, `bytea` a Buffer. Callers wrap failures with
 * `toStorageError` (errors.ts); this file never does, so that SQLSTATEs stay readable.
 */
import postgres from 'postgres';
import { createAdmission } from './admission.ts';
import { admitSql } from './guard.ts';
import { withSafeTransactions } from './transactions.ts';

/** Values our own parsers give for SQL types that `postgres` would leave as text. */
export type SqlTypes = { bigint: number };
/** A pool: statements, `begin` for transactions, `end` to close. */
export type Sql = postgres.Sql<SqlTypes>;
/** One transaction, as `sql.begin` hands it out. */
export type Transaction = postgres.TransactionSql<SqlTypes>;
/** Whatever runs statements: a pool or a transaction. */
export type Queryable = postgres.ISql<SqlTypes>;

/** Two ways to the same connections: each has a line of its own in which work waits for its turn. */
export interface Pool {
  /** For what the node does by itself. */
  readonly sql: Sql;
  /** For what clients ask for: as many as there are, they leave every other turn to the node's own work. */
  readonly requestSql: Sql;
}

export interface ConnectOptions {
  /** Connections of this process. */
  readonly connectionsMax?: number;
  /** A statement is given up by the server after this; the outcome is then definite (57014). */
  readonly statementTimeoutMs?: number;
  /** A lock is waited for this long (55P03). */
  readonly lockTimeoutMs?: number;
  /** Making a connection is given up after this. */
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

/** The same pool, also with the line of clients' requests. */
export const connectPool = (url: string, options: ConnectOptions = {}): Pool => {
  const connections = options.connectionsMax ?? 10;
  return createAdmittedPool(withSafeTransactions(connect(url, connections, options)), connections);
};

/** Work that waits for a connection in one line; a process has as much memory for many more. */
export const waitingMax = 1_000;
/** Enough that a connection never waits for this process. */
const pipelineMax = 4;

/** Puts the admission before the connections of a driver's pool. */
export const createAdmittedPool = (sql: Sql, connections: number): Pool => {
  const admission = createAdmission({ connections, pipelineMax, waitingMax });
  return { sql: admitSql(sql, admission, 'own'), requestSql: admitSql(sql, admission, 'request') };
};

const connect = (url: string, connections: number, options: ConnectOptions): Sql =>
  postgres(url, {
    ...commonOptions,
    max: connections,
    connect_timeout: options.connectSecondsMax ?? 3,
    // The breaker paces attempts; a longer pause here would only prolong an outage.
    backoff: () => 0.05,
    connection: {
      application_name: 'rollcall',
      TimeZone: 'UTC',
      // Our statements touch few rows. Compiling one takes longer than running it.
      jit: 'off',
      statement_timeout: options.statementTimeoutMs ?? 5_000,
      // Longer than the server takes to find a deadlock, so that its loser is known as such and repeated.
      lock_timeout: options.lockTimeoutMs ?? 2_000,
      idle_in_transaction_session_timeout: 60_000,
    },
  });

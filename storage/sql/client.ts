/**
 * The one SQL client of the project: `postgres`, with one set of options for a server and for the embedded
 * store. `bigint` is a number (a decimal string beyond 2^53 − 1, which we never write), `numeric` an exact
 * decimal string, `timestamptz` a Date (microseconds are cut off, so never page by one). Columns of many rows
 * go as array literals for `unnest`: the driver would escape element by element, at more than the statement.
 *
 * A wrapped pool passes each statement and transaction through a guard: the circuit breaker, the damage watch
 * or the admission. A statement of `postgres` starts when it is awaited, so the guard begins there; one used
 * as a part of another, or inside a transaction, is not guarded by itself.
 *
 * A transaction that lost against another one (a deadlock or a serialization failure) was rolled back
 * completely and may be retried, after a random pause, so that the same two do not meet again.
 *
 * Every connection begins with the settings of `settings.ts`.
 * What the driver does wrong is kept from statements and transactions by `driver-faults.ts`.
 */
import { isIP } from 'node:net';
import postgres from 'postgres';
import { limits } from '../../engine/limits.ts';
import { findAddressMistake, readPlace } from './address.ts';
import { type Admission, createAdmission, type Kind, type Line } from './admission.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import {
  dropHoles,
  isOutdated,
  rejectOutdated,
  repeatUnbegun,
  repeatUnsent,
  withSafeTransactions,
} from './driver-faults.ts';
import { asStorage, type Bindable, type Bound, bindEach } from './errors.ts';
import { applySettings } from './settings.ts';
import { readTls } from './tls.ts';

/** Results of our own parsers, for SQL types that `postgres` would leave as text. */
export type SqlTypes = { bigint: number };
/** A pool: statements, `begin` for transactions, `end` to close. */
export type Sql = postgres.Sql<SqlTypes>;
/** One transaction, as `sql.begin` hands it out. */
export type Transaction = postgres.TransactionSql<SqlTypes>;
/** Runs statements: a pool or a transaction. */
export type Queryable = postgres.ISql<SqlTypes>;
/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

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

type DriverOptions = postgres.Options<{ bigint: postgres.PostgresType<number> }>;

/** Options shared by both kinds of connection. Statements are prepared once per connection. */
export const commonOptions = {
  connect_timeout: 5,
  backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 2),
  onnotice: () => {},
  types: {
    bigint: { to: 20, from: [20], serialize: (value: number) => String(value), parse: parseBigint },
  },
} satisfies DriverOptions;

/**
 * Creates a pool on a Postgres server (version 15 or later). Connects on first use and again after a loss; a
 * statement in flight at a loss is rejected, never repeated.
 */
export const connectSql = (url: string, options: ConnectOptions = {}): Sql => connectPool(url, options).sql;

/** Connects like `connectSql`; the pool also has the queue of clients' requests. */
export const connectPool = (url: string, options: ConnectOptions = {}): Pool => {
  const connections = options.connectionsMax ?? 10;
  return createAdmittedPool(withSafeTransactions(connect(url, connections, options)), connections);
};

/** Connects like a pool before, to the same server, with what that one has learnt of its types. */
export const connectAgain = ({ sql: { options } }: Pool): Pool =>
  // The driver takes its own options, parsed as they are.
  createAdmittedPool(withSafeTransactions(postgres(options as object) as Sql), options.max);

/** Statements and transactions that may wait in one queue; further ones are refused. Memory allows more. */
export const waitingMax = 1_000;
/** Unanswered statements per connection: enough that the server never waits for this process. */
const pipelineMax = 4;

/** Puts admission control in front of a driver's pool. */
export const createAdmittedPool = (sql: Sql, connections: number): Pool => {
  rejectOutdated(sql);
  const requestWaitMsMax = limits.requestDeadlineMs;
  const admission = createAdmission({ connections, pipelineMax, waitingMax, requestWaitMsMax });
  const driver = repeatUnbegun(sql);
  return { sql: admitSql(driver, admission, 'own'), requestSql: admitSql(driver, admission, 'request') };
};

/** Creates the driver's pool on a server, with TLS as the address requests it. */
export const createDriver = (address: string, options: DriverOptions): Sql => {
  const mistake = findAddressMistake(address);
  if (mistake !== null) throw new Error(mistake);
  const { url, isFolder, options: place } = readPlace(readTls(address).url);
  // A socket of this machine has no TLS, as with the programs of Postgres.
  const tls = isFolder ? false : readTls(address).tls;
  const sql = applySettings(
    postgres(url, {
      ...commonOptions,
      ...options,
      // The driver takes lists of hosts, which its types do not know.
      ...(place as object),
      ...(tls !== undefined && { ssl: tls }),
    }),
  );
  // Without this the driver compares the certificate at an IP address with the name `localhost`.
  if (typeof tls === 'object') tls.host = sql.options.host.find((host) => isIP(host) !== 0);
  return sql;
};

const connect = (url: string, connections: number, options: ConnectOptions): Sql =>
  createDriver(url, {
    max: connections,
    connect_timeout: options.connectSecondsMax ?? 3,
    // The circuit breaker paces attempts; a longer pause here would only prolong an outage.
    backoff: () => 0.05,
    connection: {
      application_name: 'rollcall',
      ...formatLimit('statement_timeout', options.statementTimeoutMs),
      ...formatLimit('lock_timeout', options.lockTimeoutMs),
    },
  });

/** Takes the place of the time limit of the table of settings. */
const formatLimit = (name: string, ms: number | undefined): Record<string, string> =>
  ms === undefined ? {} : { [`rollcall.${name}`]: String(ms) };

type Statement = Promise<unknown>;
type Pass = <Result>(kind: Kind, work: () => PromiseLike<Result>) => Promise<Result>;
/** Runs every statement and transaction. */
export type Guard = Pick<CircuitBreaker, 'run'>;

/** Wraps a pool with a guard. */
export const guardSql = (sql: Sql, guard: Guard): Sql => wrapSql(sql, (_kind, work) => guard.run(work));

/** Wraps a pool so that its work waits in one queue of the admission. */
export const admitSql = (sql: Sql, admission: Admission, line: Line): Sql =>
  wrapSql(sql, (kind, work) =>
    admission.admit(line, kind, () => (kind === 'statement' ? repeatUnsent(work).then(dropHoles) : work())),
  );

const wrapSql = (sql: Sql, pass: Pass): Sql =>
  new Proxy(sql, {
    apply: (target, self, args) => guardStatement(() => Reflect.apply(target, self, args), pass),
    get: (target, name) => {
      if (name === 'begin')
        return (...args: Parameters<Sql['begin']>) => pass('transaction', () => target.begin(...args));
      if (name === 'unsafe')
        return (...args: Parameters<Sql['unsafe']>) => guardStatement(() => target.unsafe(...args), pass);
      return Reflect.get(target, name);
    },
  });

/**
 * Guards a statement, which is created once more each time that it is repeated. Identifiers and value lists,
 * which the same tag creates, are no statements.
 */
const guardStatement = <Made>(create: () => Made, pass: Pass): Made => {
  const tagged = create();
  if (!(tagged instanceof Promise)) return tagged;
  let start: Statement['then'] | null = tagged.then.bind(tagged);
  const run = (): Statement => {
    if (start === null) return create() as Statement;
    const first = start;
    start = null;
    return new Promise((resolve, reject) => void first(resolve, reject));
  };
  let running: Statement | null = null;
  const guarded = (): Statement => {
    running ??= pass('statement', run);
    return running;
  };
  return Object.assign(tagged, {
    // biome-ignore lint/suspicious/noThenProperty: a statement starts when it is awaited.
    then: (...args: Parameters<Statement['then']>) => guarded().then(...args),
    catch: (...args: Parameters<Statement['catch']>) => guarded().catch(...args),
    finally: (...args: Parameters<Statement['finally']>) => guarded().finally(...args),
  });
};

const repeatable = new Set(['40001', '40P01']);
const attemptsMax = 4;
const pauseMsMax = 40;

/** Creates the error for a transaction whose data has changed meanwhile: it is rolled back and retried. */
export const createSerializationFailure = (why: string): Error =>
  Object.assign(new Error(why), { code: '40001' });

/** Runs the transaction up to four times, with the number of the attempt. Rejects with its last failure. */
export const retrySerializable = async <Result>(
  transaction: (attempt: number) => Promise<Result>,
): Promise<Result> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(attempt);
    } catch (error) {
      const isRepeatable = repeatable.has((error as { code?: string }).code ?? '') || isOutdated(error);
      if (attempt === attemptsMax || !isRepeatable) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMsMax * attempt));
    }
  }
};

/** Runs a task in a transaction, up to four times. Rejects with a `StorageError`. */
export const runTransaction = <Result>(
  sql: Sql,
  operation: string,
  task: (transaction: Transaction) => Promise<Result>,
): Promise<Result> => asStorage(operation, () => retrySerializable(() => sql.begin(task))) as Promise<Result>;

/** Binds functions like `bindStorage`, each to a transaction of its own (`runTransaction`). */
export const bindTransactions = <Functions extends Bindable<Transaction>>(
  area: string,
  sql: Sql,
  functions: Functions,
): Bound<Functions> =>
  bindEach<Transaction, Functions>(
    area,
    functions,
    (operation, run) =>
      (...args) =>
        runTransaction(sql, operation, (transaction) => run(transaction, ...args)),
  );

/**
 * Formats numbers, or decimal strings of digits and a sign. Statements of requests write
 * `unnest((select ${formatNumbers(ids)}::bigint[]))`: Postgres estimates an array from a subquery the same
 * however long it is, and so plans the statement once per connection.
 */
export const formatNumbers = (values: readonly (number | string)[]): string => `{${values.join(',')}}`;

/** Formats any texts; SQL itself refuses NUL. Few need escaping, and testing for that is cheaper. */
export const formatTexts = (values: readonly string[]): string => {
  if (values.length === 0) return '{}';
  const escaped = values.some(isSpecial) ? values.map(escapeText) : values;
  return `{"${escaped.join('","')}"}`;
};

const isSpecial = (value: string): boolean => value.includes('"') || value.includes('\\');
/** Escapes a text for a quoted item of an array. */
export const escapeText = (value: string): string => value.replace(/["\\]/g, '\\$&');

export const formatBooleans = (values: readonly boolean[]): string =>
  `{${values.map((value) => (value ? 't' : 'f')).join(',')}}`;

type ColumnType = 'bigint' | 'smallint' | 'float8' | 'text' | 'uuid' | 'timestamptz';

/**
 * Builds a table of rows, `unnest` of one array for each property that `columns` names, in their order. No
 * value is null in SQL but those of numbers.
 */
export const buildRows = <Row extends object>(
  sql: Queryable,
  rows: readonly Row[],
  columns: { readonly [Name in keyof Row]?: ColumnType },
): Fragment => {
  const arrays = Object.entries<ColumnType>(columns as Record<string, ColumnType>).map(([name, type]) => {
    const values = rows.map((row) => (row as Record<string, string | number | null>)[name] ?? 'null');
    const isText = type === 'text' || type === 'uuid' || type === 'timestamptz';
    const array = isText ? formatTexts(values as string[]) : formatNumbers(values);
    return sql`(select ${array}::${sql.unsafe(type)}[])`;
  });
  return sql`unnest(${arrays.reduce((all, array) => sql`${all}, ${array}`)})`;
};

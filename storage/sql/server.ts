/**
 * Opens a pool on a Postgres server, guarded by the circuit breaker and the damage watch, and checks the
 * server.
 *
 * Refuses a pooler in transaction mode, a server that is too old, and a standby. Settings that weaken commits
 * are reported and not refused, because the hot store holds all counted data.
 */

import postgres from 'postgres';
import { createCircuitBreaker } from './circuit-breaker.ts';
import {
  type ConnectOptions,
  commonOptions,
  connectPool,
  connectSql,
  type Guard,
  guardSql,
  type Pool,
  type Sql,
} from './client.ts';
import { watchDamage } from './damage.ts';
import { openFault } from './open-fault.ts';

export interface ServerSql extends Pool {
  /** What the operator should know about the server's settings. */
  readonly notes: readonly string[];
  /** A warning while the server is away or has recently reported damage, else `null`. */
  getLastError(): string | null;
  close(): Promise<void>;
}

export interface SqlServerOptions extends ConnectOptions {
  /** Receives reports of damage, at most once a minute. */
  readonly onDamage?: (message: string, error: unknown) => void;
  /** Receives a message when the server stops answering, and when it answers again. */
  readonly onStoreChange?: (message: string, isUp: boolean) => void;
}

const versionMin = 150_000;
const probeMsMax = 1_000;
const closeSecondsMax = 5;

/** Connects. Rejects with a message for the operator if there is no server or an unsuitable one. */
export const openServerSql = async (url: string, options: SqlServerOptions = {}): Promise<ServerSql> => {
  await assertNoTransactionPooler(url);
  const pool = connectPool(url, options);
  try {
    const notes = await checkServer(pool.sql, url);
    stopFetchingTypes(pool.sql);
    return createServerSql(pool, { url, notes, options });
  } catch (error) {
    await pool.sql.end({ timeout: 0 });
    throw error;
  }
};

/**
 * The driver reads the array types on every new connection. If that connection breaks meanwhile, the
 * rejection is unhandled and ends the process. The types do not change, so only the first connection reads
 * them.
 */
const stopFetchingTypes = (sql: Sql): void => {
  (sql.options as { fetch_types: boolean }).fetch_types = false;
};

const describeDamage = (met: string): string =>
  `Postgres met damaged data (${met}): requests that need it get 503. See the log of the server. If ` +
  'files are damaged, bring the database back from a backup and, with all nodes stopped, run ' +
  '"rollcall ops reflush".';

const createServerSql = (
  pool: Pool,
  { url, notes, options }: { url: string; notes: readonly string[]; options: SqlServerOptions },
): ServerSql => {
  const circuitBreaker = createCircuitBreaker({
    probe: () => probe(url),
    retryMs: 1_000,
    suspectMs: 2_000,
    onOpened: (reason) => options.onStoreChange?.(`Postgres is away: ${reason}`, false),
    onClosed: () => options.onStoreChange?.('Postgres answers again', true),
  });
  const damage = watchDamage({ report: (met, error) => options.onDamage?.(describeDamage(met), error) });
  const guard: Guard = { run: (work) => damage.run(() => circuitBreaker.run(work)) };
  return {
    sql: guardSql(pool.sql, guard),
    requestSql: guardSql(pool.requestSql, guard),
    notes,
    getLastError: () => {
      const away = circuitBreaker.getLastError();
      if (away !== null) return `Postgres is away: ${away}`;
      const met = damage.met();
      return met === '' ? null : describeDamage(met);
    },
    close: async () => {
      circuitBreaker.close();
      await pool.sql.end({ timeout: closeSecondsMax });
    },
  };
};

/** Probes on a new connection each time: a used one may be broken although the server is back. */
const probe = async (url: string): Promise<void> => {
  const sql = connectSql(url, { connectionsMax: 1, connectSecondsMax: probeMsMax / 1_000 });
  stopFetchingTypes(sql);
  try {
    await endWithin(sql`select 1`, probeMsMax);
  } finally {
    await sql.end({ timeout: 0 });
  }
};

interface ServerFacts {
  readonly version: number;
  readonly fsync: string;
  readonly commit: string;
  readonly standby: boolean;
  readonly lockTimeout: string;
}

const checkServer = async (sql: Sql, url: string): Promise<readonly string[]> => {
  const rows = await sql<ServerFacts[]>`
    select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as commit, pg_is_in_recovery() as standby,
      current_setting('lock_timeout') as "lockTimeout"`.catch((error) => {
    throw openFault('DATABASE_URL', [url], error);
  });
  const { version, fsync, commit, standby, lockTimeout } = rows[0] as ServerFacts;
  if (version < versionMin)
    throw new Error(
      `DATABASE_URL: Postgres ${Math.floor(version / 10_000)} is too old; 15 or later is needed.`,
    );
  if (standby)
    throw new Error('DATABASE_URL: that server is a standby and takes no writes; name the primary.');
  const notes: string[] = [];
  if (fsync !== 'on') notes.push('Postgres runs with fsync=off: a power cut may damage its data.');
  if (commit === 'off')
    notes.push(
      'Postgres runs with synchronous_commit=off: a crash of it may lose the newest edits and rows.',
    );
  if (lockTimeout === '0')
    notes.push(
      'A pooler keeps the settings of connections from Postgres (lock_timeout is 0): give them to the ' +
        'role, as docs/operating.md tells under "Managed Postgres".',
    );
  return notes;
};

/** With other clients at the pooler the backends of one round may be right by chance. */
const rounds = 4;
const connectSecondsMax = 3;
const answerMsMax = 6_000;

const refusal =
  'DATABASE_URL: a connection pooler in transaction mode answers there, which mixes up the rows of ' +
  'statements; name its session port (pgbouncer: a database with pool_mode=session) or the direct address ' +
  'of Postgres.';

/**
 * Rejects with a message for the operator if backends change hands between statements, or if the server
 * cannot be used.
 *
 * The driver sends statements behind each other. A pooler in transaction mode gives the backend away after
 * the first answer, so rows of one statement reach another, or no answer comes. The probe uses two
 * connections: A asks which backend serves it, B begins a transaction and asks the same, then A asks again.
 * Directly, and through a pooler in session mode, each has its own backend throughout. In transaction mode B
 * gets the backend of A when nothing else is connected, and A gets another one while B holds its own; one
 * idle connection alone would see nothing. Only the backend's pid is read: some proxies bind a connection to
 * its backend as soon as it sets a value.
 */
const assertNoTransactionPooler = async (url: string): Promise<void> => {
  const [first, second] = [connectAlone(url), connectAlone(url)];
  try {
    if (await endWithin(sharesBackends(first, second), answerMsMax)) throw new Error(refusal);
  } catch (error) {
    if (error instanceof Error && error.message === refusal) throw error;
    throw openFault('DATABASE_URL', [url], error);
  } finally {
    await Promise.all([first.end({ timeout: 0 }), second.end({ timeout: 0 })]);
  }
};

/** One connection with few settings: poolers refuse settings that they do not know. */
const connectAlone = (url: string): Sql =>
  postgres(url, {
    ...commonOptions,
    max: 1,
    fetch_types: false,
    connect_timeout: connectSecondsMax,
    connection: { application_name: 'rollcall' },
  });

const sharesBackends = async (first: Sql, second: Sql): Promise<boolean> => {
  for (let round = 0; round < rounds; round++) {
    const before = await readBackend(first);
    await second.unsafe('begin').simple();
    const held = await readBackend(second);
    if (held === before) return true;
    if ((await readBackend(first)) !== before || (await readBackend(second)) !== held) return true;
    await second.unsafe('rollback').simple();
  }
  return false;
};

const readBackend = async (sql: Sql): Promise<number> => {
  const [row] = await sql.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid').simple();
  return (row as { pid: number }).pid;
};

/** Resolves like `work`; rejects after so many milliseconds without stopping it. */
const endWithin = async <Result>(work: PromiseLike<Result>, milliseconds: number): Promise<Result> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Opens a pool on a Postgres server, guarded by the circuit breaker and the damage watch, and checks the
 * server.
 *
 * Refuses a pooler in transaction mode, a server that is too old, and a standby. Settings that weaken commits
 * are reported and not refused, because the hot store holds all counted data.
 */

import { createCircuitBreaker } from './circuit-breaker.ts';
import {
  type ConnectOptions,
  connectPool,
  connectSql,
  type Guard,
  guardSql,
  type Pool,
  type Sql,
} from './client.ts';
import { watchDamage } from './damage.ts';
import { endWithin } from './end-within.ts';
import { openFault } from './open-fault.ts';
import { assertNoTransactionPooler } from './pooler-probe.ts';

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

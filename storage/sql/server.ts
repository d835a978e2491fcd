/**
 * Opens a pool on a Postgres server, guarded by the circuit breaker and the damage watch, and checks the
 * server.
 *
 * Refuses a pooler in transaction mode, a server that is too old, and a standby. Settings that weaken commits
 * are reported and not refused, because the hot store holds all counted data.
 */

import { createNoteBook } from '../../engine/tools/note-book.ts';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import { endWithin, startInterval } from '../timers.ts';
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
import { isReadOnly, isServerFull } from './errors.ts';
import { openFault } from './open-fault.ts';
import { findSessionPooler, isPoolerRefusal } from './pooler.ts';
import { createRenewablePool } from './renewable-pool.ts';
import { findForeignSetting } from './settings.ts';

export type ServerSql = ReturnType<typeof createServerSql>;

export interface SqlServerOptions extends ConnectOptions {
  /** Receives a message when connections were dead and are replaced. */
  readonly onReplaced?: (message: string) => void;
  /** How long the server may take to answer a probe until it counts as away. Default: 1 s, for requests. */
  readonly silenceMaxMs?: number;
}

const versionMin = 150_000;
const requestSilenceMaxMs = 1_000;
/** A busy server ends no command that has worked for an hour. */
export const commandSilenceMaxMs = 30_000;
/** Far above the time limit of a statement; longer ones are few. */
const stuckMs = 30_000;

/** Connects. Rejects with a message for the operator if there is no server or an unsuitable one. */
export const openServerSql = async (url: string, options: SqlServerOptions = {}): Promise<ServerSql> => {
  const isPooled = await findSessionPooler(url);
  const pool = connectPool(url, options);
  try {
    const notes = await checkServer(pool.sql, url);
    return createServerSql(pool, { url, notes, options, isPooled });
  } catch (error) {
    await pool.sql.end({ timeout: 0 });
    throw error;
  }
};

const describeDamage = (met: string): Note =>
  toNote(
    'sql_damaged',
    `Postgres met damaged data (${met}): requests that need it get 503. See the log of the server. If ` +
      'files are damaged, bring the database back from a backup and, with all nodes stopped, run ' +
      '"rollcall ops reflush".',
  );

const describeStuck =
  `Postgres left all work without an answer for ${stuckMs / 1_000} s, but answers on new connections: a ` +
  'firewall or a NAT has forgotten the old ones, which are replaced';

/** Nodes write a heartbeat every 30 s, so what work does not meet for longer is over. */
const holdMs = 40_000;
const remedies = {
  sql_read_only:
    'Postgres takes no writes, so edits and totals wait: name the primary in DATABASE_URL; or, where a ' +
    'full disk or an operator made it read-only, make room and set default_transaction_read_only = off',
  sql_connections:
    'Postgres has no connection left for this node, so requests and jobs fail: each node needs 11; raise ' +
    'max_connections, or the limits of the role and the database (ALTER ROLE … CONNECTION LIMIT -1)',
  sql_pooler:
    'the pooler in front of Postgres has changed to statement or transaction mode, which mixes up rows, so ' +
    'no work is sent: give this database pool_mode=session again, or name the direct address of Postgres',
  sql_commits_wait:
    'commits of Postgres wait for a synchronous standby that does not answer: bring it back, or take it ' +
    "out (ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf())",
} as const;

/** What work and probes have met lately. */
const createMet = () => {
  const book = createNoteBook(() => performance.now());
  return {
    ...book,
    meet: (name: keyof typeof remedies): void => book.meet(name, '', { text: remedies[name], holdMs }),
  };
};

interface ServerState {
  readonly url: string;
  readonly notes: readonly Note[];
  readonly options: SqlServerOptions;
  readonly isPooled: boolean;
}

/** A pooler that is set to another mode is found within so many ms and the seconds that a check takes. */
const poolerCheckMs = 3_000;

type Met = ReturnType<typeof createMet>;

/** Notes what work has met, and throws it. */
const meetError = (met: Met, pool: ReturnType<typeof createRenewablePool>, error: unknown): never => {
  if (isServerFull(error)) met.meet('sql_connections');
  if (isReadOnly(error)) {
    met.meet('sql_read_only');
    pool.renew();
  }
  throw error;
};

/** Rejects while the pooler, if there is one, mixes statements up. */
const checkPooler = async ({ url, isPooled }: ServerState, met: Met): Promise<void> => {
  if (!isPooled) return;
  await findSessionPooler(url).catch((error: unknown) => {
    if (!isPoolerRefusal(error)) return;
    met.meet('sql_pooler');
    throw error;
  });
};

const createServerSql = (first: Pool, state: ServerState) => {
  const { url, notes, options } = state;
  const pool = createRenewablePool(first);
  const met = createMet();
  const probeServer = () =>
    probe(url, options.silenceMaxMs ?? requestSilenceMaxMs).then(
      (answer) => void (answer === 'commits wait' && met.meet('sql_commits_wait')),
      (error: unknown) => {
        // It has answered: the connections of the pool may work.
        if (isServerFull(error)) return met.meet('sql_connections');
        if (isRefusedConnection(error)) pool.renew();
        throw error;
      },
    );
  const circuitBreaker = createCircuitBreaker({
    probe: () => probeServer().then(() => checkPooler(state, met)),
    retryMs: 1_000,
    suspectMs: 2_000,
    // A command may wait for long with nothing else to do.
    ...(options.silenceMaxMs === undefined && { stuckMs }),
    onStuck: () => {
      if (Object.keys(met.readAges('sql_commits_wait')).length === 0) options.onReplaced?.(describeStuck);
      pool.renew();
    },
  });
  const endChecks = startInterval(
    poolerCheckMs,
    () => checkPooler(state, met),
    ({ message }) => {
      circuitBreaker.open(message);
      pool.renew();
    },
  );
  const damage = watchDamage();
  const guard: Guard = {
    run: (work) => damage.run(() => circuitBreaker.run(work)).catch((error) => meetError(met, pool, error)),
  };
  /** Returns a warning while the server is away or has recently reported damage, else `null`. */
  const getLastError = (): Note | null => {
    const away = circuitBreaker.getLastError();
    if (away !== null) return `sql_away: Postgres is away: ${away}`;
    return damage.met() === '' ? null : describeDamage(damage.met());
  };
  return {
    sql: guardSql(pool.sql, guard),
    requestSql: guardSql(pool.requestSql, guard),
    /** What the operator should know about the server's settings. */
    notes,
    listNotes: (): readonly Note[] => [notes, getLastError() ?? [], met.list()].flat(),
    getLastError,
    close: async () => {
      endChecks();
      circuitBreaker.close();
      await pool.close();
    },
  };
};

/** Runs a task on a server, and closes its connections. */
export const runOnServer = async <Result>(
  url: string,
  task: (sql: Sql) => Promise<Result>,
): Promise<Result> => {
  const server = await openServerSql(url, { silenceMaxMs: commandSilenceMaxMs });
  return task(server.sql).finally(server.close);
};

/**
 * Probes on a new connection each time: a used one may be broken although the server is back. Also looks for
 * commits that wait for a standby.
 */
const probe = async (url: string, silenceMaxMs: number): Promise<'answers' | 'commits wait'> => {
  const sql = connectSql(url, { connectionsMax: 1, connectSecondsMax: silenceMaxMs / 1_000 });
  try {
    const waiting = sql`
      select from pg_stat_activity
      where wait_event = 'SyncRep' and query_start < now() - interval '1 second' limit 1`;
    const { length } = await endWithin(waiting, silenceMaxMs);
    return length === 0 ? 'answers' : 'commits wait';
  } finally {
    await sql.end({ timeout: 0 });
  }
};

/**
 * Whether the server answers and takes no connection, as while it recovers from a crash. A connection that
 * the driver (3.4.9) lost during a statement does not see this answer: it connects again and again, thousands
 * of times a second, until the server takes it or the pool is replaced.
 */
const isRefusedConnection = (error: unknown): boolean =>
  (error as { severity?: string } | null)?.severity === 'FATAL';

interface ServerFacts {
  readonly version: number;
  readonly fsync: string;
  readonly encoding: string;
  readonly readOnly: boolean;
}

const checkServer = async (sql: Sql, url: string): Promise<readonly Note[]> => {
  const rows = await sql<ServerFacts[]>`
    select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
      current_setting('server_encoding') as encoding,
      current_setting('transaction_read_only')::boolean as "readOnly"`.catch((error) => {
    throw openFault('DATABASE_URL', [url], error);
  });
  const { version, fsync, encoding, readOnly } = rows[0] as ServerFacts;
  if (version < versionMin)
    throw new Error(
      `DATABASE_URL: Postgres ${Math.floor(version / 10_000)} is too old; 15 or later is needed.`,
    );
  if (readOnly)
    throw new Error(
      'DATABASE_URL: that server takes no writes: it is a standby (then name the primary), or ' +
        'default_transaction_read_only is on, as some providers set it on a full disk.',
    );
  if (encoding !== 'UTF8')
    throw new Error(
      `DATABASE_URL: the encoding of this database is ${encoding}, which cannot hold every name. Create ` +
        "one with UTF8: create database NAME template template0 encoding 'UTF8'.",
    );
  const foreign = await findForeignSetting(sql);
  if (foreign !== null) throw new Error(foreign);
  return fsync === 'on'
    ? []
    : [toNote('sql_weak', 'Postgres runs with fsync=off: a power cut may damage its data.')];
};

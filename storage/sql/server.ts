/**
 * Opens a pool on a Postgres server, guarded by the circuit breaker and the damage watch, and checks the
 * server.
 *
 * Refuses a pooler in transaction mode, a server that is too old, and a standby. Settings that weaken commits
 * are reported and not refused, because the hot store holds all counted data.
 */

import { createNoteBook } from '../../engine/tools/note-book.ts';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import { endWithin } from '../timers.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import {
  type ConnectOptions,
  connectPool,
  connectSql,
  createDriver,
  type Guard,
  guardSql,
  type Pool,
  type Sql,
} from './client.ts';
import { watchDamage } from './damage.ts';
import { isReadOnly, isServerFull } from './errors.ts';
import { openFault } from './open-fault.ts';
import { createRenewablePool } from './renewable-pool.ts';

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

const createServerSql = (
  first: Pool,
  { url, notes, options }: { url: string; notes: readonly Note[]; options: SqlServerOptions },
) => {
  const pool = createRenewablePool(first);
  const met = createMet();
  const circuitBreaker = createCircuitBreaker({
    probe: () =>
      probe(url, options.silenceMaxMs ?? requestSilenceMaxMs).then(
        (answer) => void (answer === 'commits wait' && met.meet('sql_commits_wait')),
        (error: unknown) => {
          // It has answered: the connections of the pool may work.
          if (isServerFull(error)) return met.meet('sql_connections');
          if (isRefusedConnection(error)) pool.renew();
          throw error;
        },
      ),
    retryMs: 1_000,
    suspectMs: 2_000,
    // A command may wait for long with nothing else to do.
    ...(options.silenceMaxMs === undefined && { stuckMs }),
    onStuck: () => {
      if (Object.keys(met.readAges('sql_commits_wait')).length === 0) options.onReplaced?.(describeStuck);
      pool.renew();
    },
  });
  const damage = watchDamage();
  const guard: Guard = {
    run: (work) =>
      damage
        .run(() => circuitBreaker.run(work))
        .catch((error: unknown) => {
          if (isServerFull(error)) met.meet('sql_connections');
          if (isReadOnly(error)) met.meet('sql_read_only');
          if (isReadOnly(error)) pool.renew();
          throw error;
        }),
  };
  /** Returns a warning while the server is away or has recently reported damage, else `null`. */
  const getLastError = (): Note | null => {
    const away = circuitBreaker.getLastError();
    if (away !== null) return `sql_away: Postgres is away: ${away}`;
    const description = damage.met();
    return description === '' ? null : describeDamage(description);
  };
  return {
    sql: guardSql(pool.sql, guard),
    requestSql: guardSql(pool.requestSql, guard),
    /** What the operator should know about the server's settings. */
    notes,
    listNotes: (): readonly Note[] => [notes, getLastError() ?? [], met.list()].flat(),
    getLastError,
    close: async () => {
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
  stopFetchingTypes(sql);
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
  readonly commit: string;
  readonly readOnly: boolean;
  readonly lockTimeout: string;
}

const checkServer = async (sql: Sql, url: string): Promise<readonly Note[]> => {
  const rows = await sql<ServerFacts[]>`
    select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as commit, current_setting('lock_timeout') as "lockTimeout",
      current_setting('transaction_read_only')::boolean as "readOnly"`.catch((error) => {
    throw openFault('DATABASE_URL', [url], error);
  });
  const { version, fsync, commit, readOnly, lockTimeout } = rows[0] as ServerFacts;
  if (version < versionMin)
    throw new Error(
      `DATABASE_URL: Postgres ${Math.floor(version / 10_000)} is too old; 15 or later is needed.`,
    );
  if (readOnly)
    throw new Error(
      'DATABASE_URL: that server takes no writes: it is a standby (then name the primary), or ' +
        'default_transaction_read_only is on, as some providers set it on a full disk.',
    );
  const notes: Note[] = [];
  if (fsync !== 'on')
    notes.push(toNote('sql_weak', 'Postgres runs with fsync=off: a power cut may damage its data.'));
  if (commit === 'off')
    notes.push(
      toNote('sql_weak', 'Postgres runs with synchronous_commit=off: a crash may lose the newest edits.'),
    );
  if (lockTimeout === '0')
    notes.push(
      toNote(
        'sql_pooler',
        'a pooler keeps the settings of connections from Postgres (lock_timeout is 0): give them to the ' +
          'role, as docs/operating.md tells under "Managed Postgres"',
      ),
    );
  return notes;
};

/**
 * With other clients at the pooler the backends of one round are right by chance, one time in three.
 * A server far away is asked fewer rounds, so that its start does not wait.
 */
const rounds = { min: 4, max: 12, millisecondsMax: 1_000 };
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
 * the first answer, so rows of one statement reach another, or no answer comes. The probe asks three
 * connections again and again which backend serves them, one of them within a transaction. Directly, and
 * through a pooler in session mode, each has its own backend throughout. In transaction mode two share one
 * when nothing else is connected, and one gets another while the transaction keeps its own. The two others
 * are asked in changing order: a pooler that hands its backends out in turn, with another client that asks
 * as often, would give each the same one every time. Only the backend's pid is read: some proxies bind a
 * connection to its backend as soon as it sets a value. A connection that ends meanwhile gets another backend
 * as well: then all connections are checked again.
 */
const assertNoTransactionPooler = async (url: string, attemptsLeft = 3): Promise<void> => {
  const connections: Sql[] = [];
  let hasLost = false;
  let isUndecided = false;
  const onLost = (): void => {
    hasLost = true;
  };
  try {
    // The driver throws at an address that it cannot read.
    for (let count = 0; count < 3; count++) connections.push(connectAlone(url, onLost));
    const changes = await endWithin(changesBackends(connections as [Sql, Sql, Sql]), answerMsMax);
    isUndecided = changes && hasLost && attemptsLeft > 1;
    if (changes && !isUndecided) throw new Error(refusal);
  } catch (error) {
    if (error instanceof Error && error.message === refusal) throw error;
    throw openFault('DATABASE_URL', [url], error);
  } finally {
    await Promise.all(connections.map((connection) => connection.end({ timeout: 0 })));
  }
  if (isUndecided) await assertNoTransactionPooler(url, attemptsLeft - 1);
};

/** Opens one connection with few settings: poolers refuse settings that they do not know. */
const connectAlone = (url: string, onclose: () => void): Sql =>
  createDriver(url, {
    max: 1,
    onclose,
    fetch_types: false,
    connect_timeout: connectSecondsMax,
    connection: { application_name: 'rollcall' },
  });

/** Whether two of the connections share a backend, or one is served by another than before. */
const changesBackends = async ([busy, ...others]: readonly [Sql, Sql, Sql]): Promise<boolean> => {
  const connectionOf = new Map<number, Sql>();
  const isShared = async (connection: Sql, statement = ''): Promise<boolean> => {
    const backend = await readBackend(connection, statement);
    const known = connectionOf.get(backend) ?? connection;
    connectionOf.set(backend, known);
    return known !== connection;
  };
  // Before the first transaction, which would keep the only backend of a small pool.
  for (const connection of others) if (await isShared(connection)) return true;
  const startedMs = performance.now();
  for (let round = 0; round < rounds.max; round++) {
    if (round >= rounds.min && performance.now() - startedMs > rounds.millisecondsMax) break;
    const [first, last] = (round % 2 === 0 ? others : others.toReversed()) as [Sql, Sql];
    if ((await isShared(busy, 'begin')) || (await isShared(first))) return true;
    const [isLastShared] = await Promise.all([isShared(last), busy.unsafe('rollback').simple()]);
    if (isLastShared || connectionOf.size > 1 + others.length) return true;
  }
  return false;
};

/** Runs a statement, then reads the process id of the backend that serves the connection. */
const readBackend = async (sql: Sql, statement: string): Promise<number> => {
  const answer = await sql.unsafe<unknown[]>(`${statement}; select pg_backend_pid() as pid`).simple();
  const row = answer.flat().at(-1) as { readonly pid: number };
  return row.pid;
};

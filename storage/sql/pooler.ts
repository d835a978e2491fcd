/**
 * Connection poolers in front of Postgres. One in session mode gives each connection a backend of its own and
 * is used like a server; in transaction or statement mode it mixes statements up and is refused.
 */
import { endWithin } from '../timers.ts';
import { createDriver, type Sql } from './client.ts';
import { isConnectionLoss } from './errors.ts';
import { openFault } from './open-fault.ts';

/**
 * With other clients at the pooler the backends of one round are right by chance, one time in three.
 * A server far away is asked fewer rounds, so that its start does not wait.
 */
const rounds = { min: 4, max: 12, millisecondsMax: 1_000 };
const connectSecondsMax = 3;
const answerMsMax = 6_000;

const refusal =
  'DATABASE_URL: a connection pooler in statement or transaction mode answers there, which mixes up the ' +
  'rows of statements; name its session port (pgbouncer: a database with pool_mode=session) or the direct ' +
  'address of Postgres.';

/** Whether a pooler was found in a mode that mixes statements up. */
export const isPoolerRefusal = (error: unknown): error is Error =>
  error instanceof Error && error.message === refusal;

/**
 * Resolves to whether a pooler answers, whose mode may be changed while it runs.
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
 * as well, and in statement mode one ends when it begins a transaction: then all connections are checked
 * again.
 */
export const findSessionPooler = async (url: string, attemptsLeft = 3): Promise<boolean> => {
  const connections: Sql[] = [];
  let hasLost = false;
  let isUndecided = false;
  const onLost = (): void => {
    hasLost = true;
  };
  try {
    // The driver throws at an address that it cannot read.
    for (let count = 0; count < 3; count++) connections.push(connectAlone(url, onLost));
    const found = await endWithin(judgeBackends(connections as [Sql, Sql, Sql]), answerMsMax);
    isUndecided = found === 'changing' && hasLost && attemptsLeft > 1;
    if (!isUndecided && found !== 'changing') return found === 'pooled';
    if (!isUndecided) throw new Error(refusal);
  } catch (error) {
    if (isPoolerRefusal(error)) throw error;
    throw openFault('DATABASE_URL', [url], error);
  } finally {
    await Promise.all(connections.map((connection) => connection.end({ timeout: 0 })));
  }
  return findSessionPooler(url, attemptsLeft - 1);
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

/** Two of the connections share a backend, or one is served by another than before: they are `changing`. */
const judgeBackends = async ([busy, ...others]: readonly [Sql, Sql, Sql]) => {
  const connectionOf = new Map<number, Sql>();
  let isPooled = false;
  const isShared = async (connection: Sql, statement = 'select 1'): Promise<boolean> => {
    const { backend, named } = await readBackend(connection, statement);
    isPooled ||= named !== backend;
    const known = connectionOf.get(backend) ?? connection;
    connectionOf.set(backend, known);
    return known !== connection;
  };
  // Before the first transaction, which would keep the only backend of a small pool.
  for (const connection of others) if (await isShared(connection)) return 'changing';
  const startedMs = performance.now();
  for (let round = 0; round < rounds.max; round++) {
    if (round >= rounds.min && performance.now() - startedMs > rounds.millisecondsMax) break;
    const [first, last] = (round % 2 === 0 ? others : others.toReversed()) as [Sql, Sql];
    if ((await isShared(busy, 'begin').catch(isConnectionLoss)) || (await isShared(first))) return 'changing';
    const [isLastShared] = await Promise.all([isShared(last), busy.unsafe('rollback').simple()]);
    if (isLastShared || connectionOf.size > 1 + others.length) return 'changing';
  }
  return isPooled ? 'pooled' : 'direct';
};

interface BackendAnswer extends ReadonlyArray<{ readonly pid: number }> {
  /** Of the backend that was named as the connection began. */
  readonly state: { readonly pid: number };
}

/** Runs a statement, then reads which backend serves the connection. */
const readBackend = async (sql: Sql, statement: string) => {
  const answers = await sql.unsafe<unknown[]>(`${statement}; select pg_backend_pid() as pid`).simple();
  const answer = answers.at(-1) as BackendAnswer;
  return { backend: answer[0]?.pid ?? 0, named: answer.state.pid };
};

/**
 * Finds out at start whether a pooler that shares backends between statements is in front of Postgres.
 *
 * The driver sends statements behind each other. A pooler in transaction mode gives the backend away after
 * the first answer, so rows of one statement reach another, or no answer comes. The probe uses two
 * connections: A asks which backend serves it, B begins a transaction and asks the same, then A asks again.
 * Directly, and through a pooler in session mode, each has its own backend throughout. In transaction mode B
 * gets the backend of A when nothing else is connected, and A gets another one while B holds its own; one
 * idle connection alone would see nothing. Only the backend's pid is read: some proxies bind a connection to
 * its backend as soon as it sets a value.
 */
import postgres from 'postgres';
import { commonOptions, type Sql } from './client.ts';
import { endWithin } from './end-within.ts';
import { openFault } from './open-fault.ts';

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
 */
export const assertNoTransactionPooler = async (url: string): Promise<void> => {
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

/**
 * A lock in Postgres that lasts as long as a connection of its own: only one process of a database has it.
 *
 * Postgres gives it free when the connection ends, also when the process is killed or its machine is gone. A
 * lost connection is made again, and the lock taken again; if another process has taken the database over
 * meanwhile, this one must end.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createDriver, type Sql } from './client.ts';
import { locks } from './locks.ts';
import { openFault } from './open-fault.ts';

export interface SessionLockOptions {
  /** Whether the database is still this process's, asked after the lock was lost and is back. */
  readonly isHolder: () => Promise<boolean>;
  /** Another process has the database: end this one. Called at most once. */
  readonly onLost: () => void;
}

const takeMsMax = 3_000;
const retryMs = 250;

interface LockState extends SessionLockOptions {
  readonly sql: Sql;
  released: boolean;
  taking: boolean;
  /** The connection has ended since the lock was last requested. */
  lost: boolean;
}

/**
 * Tries the lock. The server gives up a silent connection: else a lost machine's lock would stay for hours.
 */
const tryLock = async (sql: Sql): Promise<boolean> => {
  const [row] = await sql<{ taken: boolean }[]>`
    select pg_try_advisory_lock(${locks.session}) as taken, set_config('tcp_keepalives_idle', '30', false),
      set_config('tcp_keepalives_interval', '10', false), set_config('tcp_keepalives_count', '3', false)`;
  return row?.taken === true;
};

/** Waits for the lock as long as the server may need to notice that a killed process is gone. */
const waitForLock = async (sql: Sql, url: string): Promise<void> => {
  const endMs = performance.now() + takeMsMax;
  const tryFirst = (): Promise<boolean> =>
    tryLock(sql).catch((error) => {
      throw openFault('DATABASE_URL', [url], error);
    });
  while (!(await tryFirst())) {
    if (performance.now() > endMs)
      throw new Error(
        'Another process uses the database of DATABASE_URL without REDIS_URL, and only one may. Stop it, ' +
          'or name another database.',
      );
    await pause(retryMs);
  }
};

/** Takes the lock again after the connection ended. The former session may still have it for a while. */
const retake = async (state: LockState): Promise<void> => {
  if (state.taking) return;
  state.taking = true;
  while (!state.released) {
    state.lost = false;
    const taken = await tryLock(state.sql).catch(() => false);
    const isOurs = await state.isHolder().catch(() => null);
    if (isOurs === false) return state.onLost();
    if (taken && isOurs === true && !state.lost) break;
    await pause(retryMs, null, { ref: false });
  }
  state.taking = false;
};

/** Takes the lock, and keeps it until it is released. Rejects when another process has it. */
export const takeSessionLock = async (url: string, options: SessionLockOptions) => {
  const sql = createDriver(url, {
    max: 1,
    max_lifetime: null,
    connection: { application_name: 'rollcall lock' },
    onclose: () => {
      state.lost = true;
      if (!state.released) void retake(state);
    },
  });
  const state: LockState = { ...options, sql, released: false, taking: true, lost: false };
  try {
    await waitForLock(sql, url);
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
  state.taking = false;
  return {
    release: async (): Promise<void> => {
      state.released = true;
      await sql.end({ timeout: 1 });
    },
  };
};

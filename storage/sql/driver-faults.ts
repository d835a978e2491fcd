/**
 * The faults of the driver (postgres 3.4.9) that we work around in every pool:
 *
 * - It keeps the error with which a server closed a connection during a statement, and rejects with it the
 *   next statement of that connection, which was not sent: `repeatUnsent`, `repeatUnbegun`.
 * - It sends a statement that was prepared and is outdated again, but its values later: `rejectOutdated`.
 * - It goes on counting the rows of a statement that failed: `dropHoles`.
 * - After the loss of its connection a transaction rolls back on the closed one, which throws what nothing
 *   can catch; a later statement may even run, alone, on the new one. So then the callback that the driver
 *   gets never returns, and sends nothing more; the promise of `begin` has already rejected:
 *   `withSafeTransactions`.
 *
 * What it does wrong with addresses, TLS and full connections is in `address.ts`, `tls.ts`, `server.ts` and
 * `admission.ts`.
 */
import { StorageError } from '../../engine/errors.ts';
import { isConnectionLoss } from './errors.ts';

type Callable = (...args: never[]) => unknown;
type Task = (transaction: Callable) => unknown;
type BeginArguments = [Task] | [options: string, Task];
/** The driver's pool, as far as it begins transactions. */
interface Beginner {
  begin(options: string, task: Task): Promise<unknown>;
}

/** Replaces `begin` of a pool. */
const replaceBegin = <Pool extends Beginner>(
  pool: Pool,
  begin: (pool: Pool, options: string, task: Task) => Promise<unknown>,
): Pool =>
  new Proxy(pool, {
    get: (target, name) => {
      if (name !== 'begin') return Reflect.get(target, name);
      return (...args: BeginArguments) => {
        const task = args[args.length - 1] as Task;
        return begin(target, args.length === 2 ? args[0] : '', task);
      };
    },
  });

/* ------------------------------------------- work that was not sent */

const keptSeverities = new Set(['FATAL', 'PANIC']);

/**
 * Whether the driver may have kept this error from an earlier statement. A statement that was sent never gets
 * such an error: it is rejected as its connection closes.
 */
const isKept = (error: unknown): boolean =>
  keptSeverities.has((error as { severity?: string } | null)?.severity ?? '');

/**
 * Runs a statement, and again if it was not sent. One that was prepared and is outdated is prepared again,
 * once on each connection.
 */
export const repeatUnsent = async <Result>(statement: () => PromiseLike<Result>): Promise<Result> => {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await statement();
    } catch (error) {
      if (!(isFirst && isKept(error)) && !isOutdated(error)) throw error;
    }
  }
};

/**
 * Wraps the pool: a transaction whose `begin` was not sent begins again. Once its task was called it does
 * not, whatever that got: an error of another pool may look the same.
 */
export const repeatUnbegun = <Pool extends Beginner>(sql: Pool): Pool =>
  replaceBegin(sql, async (pool, options, task) => {
    let hasBegun = false;
    const begin = () =>
      pool.begin(options, (transaction) => {
        hasBegun = true;
        return task(transaction);
      });
    try {
      return await begin();
    } catch (error) {
      if (hasBegun || !isKept(error)) throw error;
      return begin();
    }
  });

/* --------------------------------------------- outdated statements */

/** Errors of prepared statements that the server no longer has, or whose result has other columns by now. */
const outdated = new WeakSet<object>();

/** Whether a statement failed because it was prepared and is outdated: it had no effect. */
export const isOutdated = (error: unknown): boolean => outdated.has(error as object);

/**
 * Rejects an outdated statement, which the driver would send again itself. It sends the values of such a
 * statement later, and meanwhile others on the same connection: each then gets the rows of another.
 */
export const rejectOutdated = (sql: (template: TemplateStringsArray) => object): void => {
  Object.defineProperty(Object.getPrototypeOf(sql``), 'retried', {
    configurable: true,
    // The driver sets it, then sends the statement unless it was cancelled.
    set(this: { cancelled: boolean; reject: (error: object) => void }, error: object) {
      outdated.add(error);
      this.cancelled = true;
      this.reject(error);
    },
  });
};

/* ------------------------------------------------------------ holes */

/**
 * Removes the holes before the rows of a statement. The driver goes on counting the rows of a statement that
 * failed, or lost its connection, after its first rows: those of the next one come after as many holes.
 * Within a transaction none do, because `begin` and `rollback` set the count back.
 */
export const dropHoles = <Result>(rows: Result): Result => {
  if (!Array.isArray(rows) || rows.length === 0 || 0 in rows) return rows;
  const first = rows.findIndex((row) => row !== undefined);
  rows.splice(0, first);
  return rows;
};

/* ---------------------------------------- transactions that are lost */

interface ConnectionState {
  lost: boolean;
}

/** Wraps the pool, with `begin` made safe. */
export const withSafeTransactions = <Pool extends Beginner>(sql: Pool): Pool =>
  replaceBegin(sql, async (pool, options, task) => {
    const connection: ConnectionState = { lost: false };
    try {
      return await pool.begin(options, (transaction) => run(transaction, task, connection));
    } catch (error) {
      connection.lost ||= isConnectionLoss(error);
      throw error;
    }
  });

const run = async (transaction: Callable, task: Task, connection: ConnectionState): Promise<unknown> => {
  try {
    const result = await task(watchTransaction(transaction, connection));
    return connection.lost ? createPendingForever() : result;
  } catch (error) {
    if (connection.lost) return createPendingForever();
    throw error;
  }
};

/** Never settles. The caller's promise no longer depends on this one, so it is garbage-collected. */
const createPendingForever = (): Promise<never> => new Promise(() => {});

/**
 * Throws on statements of a transaction whose connection was lost. Only its own statements say so: its task
 * may get the same error from another pool.
 */
const watchTransaction = (transaction: Callable, connection: ConnectionState): Callable =>
  new Proxy(transaction, {
    apply: (target, self, args) => {
      if (connection.lost) throw createLostError();
      return noteLoss(Reflect.apply(target, self, args), connection);
    },
    get: (target, name) => {
      if (connection.lost) throw createLostError();
      const property = Reflect.get(target, name);
      if (name === 'unsafe') return (...args: never[]) => noteLoss(property(...args), connection);
      if (name === 'savepoint') return (...args: never[]) => noteLossOf(property(...args), connection);
      return property;
    },
  });

/** Notes it when the driver rejects a statement because its connection was lost. */
const noteLoss = <Made>(made: Made, connection: ConnectionState): Made => {
  if (!(made instanceof Promise)) return made;
  const statement = made as unknown as { reject: (error: unknown) => void };
  const { reject } = statement;
  statement.reject = (error) => {
    connection.lost ||= isConnectionLoss(error);
    reject(error);
  };
  return made;
};

/** Notes it when a savepoint ends with the loss of a connection, and takes that for its own. */
const noteLossOf = (savepoint: Promise<unknown>, connection: ConnectionState): Promise<unknown> =>
  savepoint.catch((error: unknown) => {
    connection.lost ||= isConnectionLoss(error);
    throw error;
  });

const createLostError = (): StorageError =>
  new StorageError('transaction', {
    outcome: 'unknown',
    reason: 'unreachable',
    detail: 'its connection was lost',
  });

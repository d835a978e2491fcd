/**
 * Makes transactions safe against the loss of their connection.
 *
 * The driver (postgres 3.4.9) rolls back on the closed connection, which throws an uncatchable error and ends
 * the process; a later statement of the same transaction may even run, alone, on the new connection. So after
 * a loss the driver's callback never returns and sends no further statement; the promise of `begin` has
 * already rejected when the connection closed.
 */
import type postgres from 'postgres';
import { StorageError } from '../../engine/errors.ts';
import { toStorageError } from './errors.ts';

type Sql = postgres.Sql<{ bigint: number }>;
type Transaction = postgres.TransactionSql<{ bigint: number }>;
type Task = (transaction: Transaction) => unknown;
interface ConnectionState {
  lost: boolean;
}

/** The same pool, with `begin` made safe. */
export const withSafeTransactions = (sql: Sql): Sql =>
  new Proxy(sql, {
    get: (target, name) => (name === 'begin' ? beginOn(target) : Reflect.get(target, name)),
  });

const beginOn =
  (sql: Sql) =>
  async (...args: [Task] | [string, Task]): Promise<unknown> => {
    const connection: ConnectionState = { lost: false };
    const task = args[args.length - 1] as Task;
    const options = args.length === 2 ? (args[0] as string) : '';
    try {
      return await sql.begin(options, (transaction) => run(transaction, task, connection));
    } catch (error) {
      connection.lost ||= isConnectionLoss(error);
      throw error;
    }
  };

const run = async (transaction: Transaction, task: Task, connection: ConnectionState): Promise<unknown> => {
  try {
    const result = await task(watchTransaction(transaction, connection));
    return connection.lost ? createPendingForever() : result;
  } catch (error) {
    connection.lost ||= isConnectionLoss(error);
    if (connection.lost) return createPendingForever();
    throw error;
  }
};

/** A promise that never settles. The caller's promise no longer depends on it, so it is garbage-collected. */
const createPendingForever = (): Promise<never> => new Promise(() => {});

const isConnectionLoss = (error: unknown): boolean =>
  toStorageError('transaction', error).reason === 'unreachable';

/** Throws on statements of a transaction whose connection was lost. */
const watchTransaction = (transaction: Transaction, connection: ConnectionState): Transaction =>
  new Proxy(transaction, {
    apply: (target, self, args) => {
      if (connection.lost) throw createLostError();
      return Reflect.apply(target, self, args);
    },
    get: (target, name) => {
      if (connection.lost) throw createLostError();
      return Reflect.get(target, name);
    },
  });

const createLostError = (): StorageError =>
  new StorageError('transaction', {
    outcome: 'unknown',
    reason: 'unreachable',
    detail: 'its connection was lost',
  });

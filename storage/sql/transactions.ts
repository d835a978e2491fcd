/**
 * Transactions that survive the loss of their connection.
 *
 * The driver (postgres 3.4.9) rolls back on the connection that has just closed: that throws where nobody can
 * catch it and ends the process; and a statement issued later by the same transaction may even run, alone, on
 * the connection made anew. So a transaction whose connection is gone is never handed back to the driver: its
 * own promise was rejected by the closing already, and nothing more is sent in its name.
 */
import type postgres from 'postgres';
import { StorageError } from '../../engine/errors.ts';
import { toStorageError } from './errors.ts';

type Sql = postgres.Sql<{ bigint: number }>;
type Transaction = postgres.TransactionSql<{ bigint: number }>;
type Task = (transaction: Transaction) => unknown;
interface ConnectionLife {
  lost: boolean;
}

/** The same pool, with `begin` made safe. */
export const withSafeTransactions = (sql: Sql): Sql =>
  new Proxy(sql, {
    get: (target, name) => (name === 'begin' ? beginOn(target) : Reflect.get(target, name)),
  });

const beginOn =
  (sql: Sql) =>
  async (...words: [Task] | [string, Task]): Promise<unknown> => {
    const life: ConnectionLife = { lost: false };
    const task = words[words.length - 1] as Task;
    const options = words.length === 2 ? (words[0] as string) : '';
    try {
      return await sql.begin(options, (transaction) => run(transaction, task, life));
    } catch (error) {
      life.lost ||= isLoss(error);
      throw error;
    }
  };

const run = async (transaction: Transaction, task: Task, life: ConnectionLife): Promise<unknown> => {
  try {
    const result = await task(watchTransaction(transaction, life));
    return life.lost ? createEndless() : result;
  } catch (error) {
    life.lost ||= isLoss(error);
    if (life.lost) return createEndless();
    throw error;
  }
};

/** Left to the garbage collector: the caller's promise does not depend on it any more. */
const createEndless = (): Promise<never> => new Promise(() => {});

const isLoss = (error: unknown): boolean => toStorageError('transaction', error).reason === 'unreachable';

/** Refuses statements of a transaction that is over. */
const watchTransaction = (transaction: Transaction, life: ConnectionLife): Transaction =>
  new Proxy(transaction, {
    apply: (target, self, words) => {
      if (life.lost) throw createLostError();
      return Reflect.apply(target, self, words);
    },
    get: (target, name) => {
      if (life.lost) throw createLostError();
      return Reflect.get(target, name);
    },
  });

const createLostError = (): StorageError =>
  new StorageError('transaction', {
    outcome: 'unknown',
    reason: 'unreachable',
    detail: 'its connection was lost',
  });

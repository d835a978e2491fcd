/**
 * Retries a transaction that lost against another one (a deadlock or a serialization failure).
 *
 * Such a transaction was rolled back completely, so a retry is safe; every other failure goes to the caller
 * at once. Pauses are random, so that the same two transactions do not meet again.
 */
import type { Sql, Transaction } from './client.ts';
import { asStorage } from './errors.ts';

const repeatable = new Set(['40001', '40P01']);
const attemptsMax = 4;
const pauseMsMax = 40;

/** An error to throw inside a transaction whose data has changed meanwhile: it is rolled back and retried. */
export const createSerializationFailure = (why: string): Error =>
  Object.assign(new Error(why), { code: '40001' });

/** Runs the transaction up to four times, with the number of the attempt. Rejects with its last failure. */
export const retrySerializable = async <Result>(
  transaction: (attempt: number) => Promise<Result>,
): Promise<Result> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(attempt);
    } catch (error) {
      if (attempt === attemptsMax || !repeatable.has((error as { code?: string }).code ?? '')) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMsMax * attempt));
    }
  }
};

/** Runs a task in a transaction, up to four times. Rejects with a `StorageError`. */
export const runTransaction = <Result>(
  sql: Sql,
  operation: string,
  task: (transaction: Transaction) => Promise<Result>,
): Promise<Result> => asStorage(operation, () => retrySerializable(() => sql.begin(task))) as Promise<Result>;

/**
 * What a caller needs of a statement's rows when it needs less than all of them.
 */
import type { Queryable } from './client.ts';

/** Resolves to whether the statement finds or returns a row. */
export const hasRow = async (statement: PromiseLike<readonly unknown[]>): Promise<boolean> =>
  (await statement).length > 0;

/** Resolves to the first row; `null` when there is none. */
export const readFirst = async <Row>(statement: PromiseLike<readonly Row[]>): Promise<Row | null> =>
  (await statement)[0] ?? null;

/** Resolves to the values of the statement's only column. */
export const readColumn = async <Value>(
  statement: PromiseLike<readonly object[]>,
): Promise<readonly Value[]> => (await statement).map((row) => Object.values(row)[0] as Value);

/** Resolves to the only value that the statement reads; `null` without a row. */
export const readValue = async <Value>(statement: PromiseLike<readonly object[]>): Promise<Value | null> =>
  (await readColumn<Value>(statement))[0] ?? null;

/** Resolves to the only number that the statement reads; 0 without a row. */
export const readNumber = async (statement: PromiseLike<readonly object[]>): Promise<number> =>
  (await readValue<number>(statement)) ?? 0;

/** Resolves to the only yes or no that the statement reads; false without a row. */
export const readFlag = async (statement: PromiseLike<readonly object[]>): Promise<boolean> =>
  (await readValue<boolean>(statement)) ?? false;

/** Rows that one statement of `changeInSteps` may change. */
export const rowsPerStep = 10_000;

/**
 * Repeats a statement that changes at most `rowsPerStep` rows until it changes fewer, or the signal aborts.
 * Resolves to how many in all.
 */
export const changeInSteps = async (
  step: () => PromiseLike<{ readonly count: number }>,
  signal?: AbortSignal,
): Promise<number> => {
  let rows = 0;
  while (!signal?.aborted) {
    const { count } = await step();
    rows += count;
    if (count < rowsPerStep) break;
  }
  return rows;
};

/** Whether the database has this table. */
export const hasTable = (sql: Queryable, name: string): Promise<boolean> =>
  hasRow(sql`select where to_regclass(${name}) is not null`);

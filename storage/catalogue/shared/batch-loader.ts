/**
 * Reads rows by id in batches: requests that arrive while one statement runs share the next one.
 *
 * Popular profiles expire from the cache at about the same time. A statement for each of them would be most
 * of the work of reading (a thousand every ten seconds). Only one statement runs at a time. Used by cache.ts,
 * which requests each row at most once at a time.
 */

/** Rows in one statement: few enough that the statement stays short. */
const idsMax = 100;

interface BatchWaiter<Row> {
  readonly id: string;
  readonly resolve: (row: Row | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Loads one row; `null` when it does not exist. Rejects with the error of `readMany`. */
export const createBatchLoader = <Row extends { readonly id: string }>(
  readMany: (ids: readonly string[]) => Promise<readonly Row[]>,
): ((id: string) => Promise<Row | null>) => {
  let waiting: BatchWaiter<Row>[] = [];
  let reading = false;
  const readNext = async (): Promise<void> => {
    const batch = waiting.slice(0, idsMax);
    waiting = waiting.slice(idsMax);
    try {
      const rows = new Map<string, Row>();
      for (const row of await readMany(batch.map(({ id }) => id))) rows.set(row.id, row);
      for (const { id, resolve } of batch) resolve(rows.get(id) ?? null);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };
  const readAll = async (): Promise<void> => {
    reading = true;
    while (waiting.length > 0) await readNext();
    reading = false;
  };
  return (id) =>
    new Promise((resolve, reject) => {
      waiting.push({ id, resolve, reject });
      if (!reading) void readAll();
    });
};

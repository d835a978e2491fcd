/**
 * Reads rows that are known to be there together: those of all who ask while a statement is under way share
 * the next one.
 *
 * A directory's popular profiles grow old together, and each of them would be a statement of its own: a
 * thousand every ten seconds are most of the work of reading. One statement is under way at a time; whoever
 * waits for it waits for few others. Used by cache.ts only, which asks once for each row at a time.
 */

/** Rows in one statement: few enough that nobody else waits for them long. */
const idsMax = 100;

interface BatchWaiter<Row> {
  readonly id: string;
  readonly resolve: (row: Row | null) => void;
  readonly reject: (failure: unknown) => void;
}

/** `null` for a row that is gone. Rejects with what `readMany` rejects with. */
export const createBatchLoader = <Row extends { readonly id: string }>(
  readMany: (ids: readonly string[]) => Promise<readonly Row[]>,
): ((id: string) => Promise<Row | null>) => {
  let waiting: BatchWaiter<Row>[] = [];
  let reading = false;
  const readNext = async (): Promise<void> => {
    const together = waiting.slice(0, idsMax);
    waiting = waiting.slice(idsMax);
    try {
      const rows = new Map<string, Row>();
      for (const row of await readMany(together.map(({ id }) => id))) rows.set(row.id, row);
      for (const { id, resolve } of together) resolve(rows.get(id) ?? null);
    } catch (failure) {
      for (const { reject } of together) reject(failure);
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

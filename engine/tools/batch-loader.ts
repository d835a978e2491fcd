/**
 * Gathers requests for single values and loads them in batches.
 *
 * Two uses, one mechanism: the engine gathers the reads of one tick and sends all batches at once; the
 * catalogue sends one statement at a time, and requests that arrive meanwhile share the next one. Does not
 * cache and does not remove duplicates. Used by actors/activation.ts and storage/catalogue/shared/cache.ts.
 */
export interface BatchLoaderOptions<Key, Value> {
  /** Resolves to one value per key, in the order of the keys. Its rejection rejects the whole batch. */
  readonly loadMany: (keys: readonly Key[]) => Promise<readonly Value[]>;
  /** Keys of one batch. */
  readonly keysMax: number;
  /** Batches under way at once. */
  readonly batchesMax: number;
  /** Calls the task once, now or later: requests that arrive until then are gathered. */
  readonly schedule: (task: () => void) => void;
}

interface BatchWaiter<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

export const createBatchLoader = <Key, Value>({
  loadMany,
  keysMax,
  batchesMax,
  schedule,
}: BatchLoaderOptions<Key, Value>): ((key: Key) => Promise<Value>) => {
  const waiting: BatchWaiter<Key, Value>[] = [];
  let scheduled = false;
  let batches = 0;
  const startBatches = (): void => {
    scheduled = false;
    while (waiting.length > 0 && batches < batchesMax) void loadBatch(waiting.splice(0, keysMax));
  };
  const loadBatch = async (batch: readonly BatchWaiter<Key, Value>[]): Promise<void> => {
    batches++;
    try {
      const values = await loadMany(batch.map(({ key }) => key));
      for (const [index, { resolve }] of batch.entries()) resolve(values[index] as Value);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    // Below the bound nothing waits for this batch: what is gathered has its start scheduled.
    if (batches-- === batchesMax) startBatches();
  };
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (scheduled || batches >= batchesMax) return;
      scheduled = true;
      schedule(startBatches);
    });
};

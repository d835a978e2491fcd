/**
 * Gathers requests for single values and loads them in batches.
 *
 * Two uses, one mechanism: the engine gathers the reads of one tick and sends all batches at once; the
 * catalogue sends one statement at a time, and requests that arrive meanwhile share the next one. A key that
 * the store cannot take fails its own request only: a failed batch is loaded again in halves, unless the
 * store as a whole is the reason. Does not cache and does not remove duplicates.
 */
import { isStoreAway } from '../errors.ts';

export interface BatchLoaderOptions<Key, Value> {
  /** Resolves to one value per key, in the order of the keys. Its rejection rejects a batch of one. */
  readonly loadMany: (keys: readonly Key[]) => Promise<readonly Value[]>;
  /** Keys of one batch. */
  readonly keysMax: number;
  /** Batches under way at once. Default: 2. */
  readonly batchesMax?: number;
  /** Calls the task once, now or later: requests that arrive until then are gathered. Default: now. */
  readonly schedule?: (task: () => void) => void;
}

interface BatchWaiter<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

const splitInHalves = <Item>(items: readonly Item[]): readonly (readonly Item[])[] => {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(middle), items.slice(0, middle)];
};

export const createBatchLoader = <Key, Value>({
  loadMany,
  keysMax,
  batchesMax = 2,
  schedule = (task) => task(),
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
    const parts = [batch];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      try {
        const values = await loadMany(part.map(({ key }) => key));
        for (const [index, { resolve }] of part.entries()) resolve(values[index] as Value);
      } catch (error) {
        if (part.length > 1 && !isStoreAway(error)) parts.push(...splitInHalves(part));
        else for (const { reject } of part) reject(error);
      }
    }
    // Below the bound there is nothing to start here: the start of gathered requests is scheduled already.
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

/**
 * A cache of bounded size that keeps recently used entries.
 *
 * It has two maps: new and used entries go into the young one; when that is full it becomes the old one, and
 * the previous old one is dropped. So an entry stays until at least `entriesMax` others were used. This
 * approximates LRU without an order of use, which would cost as much as computing many of the values.
 */
export type TwoGenerationCache<Value> = ReturnType<typeof createTwoGenerationCache<Value>>;

/** Creates an empty cache of at most twice `entriesMax` entries. */
export const createTwoGenerationCache = <Value>(entriesMax: number) => {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  const set = (key: string, value: Value): void => {
    if (young.size >= entriesMax && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  };
  return {
    get: (key: string): Value | undefined => {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
    delete: (key: string): void => {
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young = new Map();
      old = new Map();
    },
  };
};

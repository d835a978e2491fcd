/**
 * A memory of what was used lately, of bounded size: what is asked for again and again is found, the rest is
 * made anew.
 *
 * Two maps: new and used entries go into the younger one; when that is full it becomes the older one, and the
 * older one is dropped. So an entry stays for at least `entriesMax` others, and nothing is kept in order of
 * use, which would cost as much as many of the values do. Never the only place of a fact. Used by the engine,
 * the hot stores and http.
 */
export interface TwoGenerationCache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  clear(): void;
}

/** Holds at most twice `entriesMax`. */
export const createTwoGenerationCache = <Value>(entriesMax: number): TwoGenerationCache<Value> => {
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
    get: (key) => {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
    delete: (key) => {
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young = new Map();
      old = new Map();
    },
  };
};

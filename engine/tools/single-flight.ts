/**
 * Shares one call per key among all that need its result at the same time.
 *
 * A call that failed is shared by those that waited for it, and by no later one. Keeps no results: a cache in
 * front of it does. Pure.
 */
export type SingleFlight<Value> = ReturnType<typeof createSingleFlight<Value>>;

export const createSingleFlight = <Value>() => {
  const flights = new Map<string, Promise<Value>>();
  const begin = (key: string, start: () => Promise<Value>): Promise<Value> => {
    const flight = start().finally(() => {
      if (flights.get(key) === flight) flights.delete(key);
    });
    flights.set(key, flight);
    return flight;
  };
  return {
    /** The call under way for `key`; without one, the call that `start` begins. */
    share: (key: string, start: () => Promise<Value>) => flights.get(key) ?? begin(key, start),
    /** The call under way for `key`. */
    get: (key: string) => flights.get(key),
    /** Number of calls under way. */
    count: () => flights.size,
    /** Calls that are under way now are not shared with later callers: what they read may be old. */
    detachAll: () => flights.clear(),
  };
};

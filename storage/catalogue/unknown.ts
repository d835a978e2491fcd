/**
 * Remembers for a short time which names SQL does not know, so that a flood of them costs few statements.
 *
 * Correct under races: a commit of this node clears all entries, and the result of a lookup that began before
 * the commit is neither stored nor shared with later lookups. A name that another node creates is visible
 * after `unknownMs`, counted from before the statement that did not find it. A failure is never stored.
 * Bounded in the number and the length of names.
 */
import { createSingleFlight } from '../../engine/tools/single-flight.ts';
import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';
import type { Sql } from '../sql/client.ts';

/** How long a name counts as unknown, ms. Names that other nodes create must appear within 1 s (I9). */
export const unknownMs = 500;
/** Names per generation of the cache, which has at most two generations. */
const namesMax = 10_000;
/** No id, code or url is longer; longer names are not stored. */
const nameLengthMax = 128;

/** Creates an empty set; `monotonicMs` is the clock, and tests pass their own. */
export const createUnknownNames = (monotonicMs: () => number = () => performance.now()) => {
  const untilMs = createTwoGenerationCache<number>(namesMax);
  const listeners: (() => void)[] = [];
  let epoch = 0;
  return {
    /** Whether SQL recently found nothing with this name. */
    has: (name: string) => (untilMs.get(name) ?? Number.NEGATIVE_INFINITY) > monotonicMs(),
    /** Call before the statement that looks for the name; call the result if that finds nothing. */
    beginLookUp: (name: string) => {
      const [startedMs, epochAtStart] = [monotonicMs(), epoch];
      return () => {
        if (epochAtStart === epoch && name.length <= nameLengthMax) untilMs.set(name, startedMs + unknownMs);
      };
    },
    /** Call when a name may have been created: after a commit, before the caller gets its answer. */
    forgetAll: () => {
      epoch += 1;
      untilMs.clear();
      for (const listener of listeners) listener();
    },
    /** Calls `listener` at each `forgetAll`, so that later requests do not share lookups begun before it. */
    whenForgotten: (listener: () => void) => void listeners.push(listener),
  };
};
export type UnknownNames = ReturnType<typeof createUnknownNames>;

/** Creates a view of the same set for the names of one kind. */
export const createNamesOfKind = (unknown: UnknownNames, kind: string): UnknownNames => ({
  ...unknown,
  has: (name) => unknown.has(`${kind} ${name}`),
  beginLookUp: (name) => unknown.beginLookUp(`${kind} ${name}`),
});

/** Finds in SQL what has the name: an id, a vanity code or a URL. */
type LookUp<Result> = (name: string) => Promise<Result>;

/**
 * Creates a lookup that runs `load` once for simultaneous requests of one name, and not at all for a name
 * that is known to be unknown. `none` is the result for such a name; `isNone` recognises it in a loaded
 * result.
 */
export const createLookUp = <Result>(
  unknown: UnknownNames,
  { none, isNone, load }: { none: Result; isNone: (result: Result) => boolean; load: LookUp<Result> },
): LookUp<Result> => {
  const flights = createSingleFlight<Result>();
  unknown.whenForgotten(flights.detachAll);
  const start = async (name: string): Promise<Result> => {
    const markUnknown = unknown.beginLookUp(name);
    const result = await load(name);
    if (isNone(result)) markUnknown();
    return result;
  };
  return (name) => (unknown.has(name) ? Promise.resolve(none) : flights.share(name, () => start(name)));
};

/** Wraps the pool: each transaction clears the unknown names before its promise settles. */
export const forgetOnCommit = (sql: Sql, unknown: UnknownNames): Sql =>
  new Proxy(sql, {
    get: (target, key) =>
      key === 'begin'
        ? // Also after a failure: the transaction may be committed although its answer was lost.
          (...args: Parameters<Sql['begin']>) => target.begin(...args).finally(unknown.forgetAll)
        : Reflect.get(target, key),
  });

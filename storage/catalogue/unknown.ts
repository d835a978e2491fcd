/**
 * Names that SQL said it does not know, for a moment: a flood of them costs a statement now and then.
 *
 * Correct under races: a commit of this node forgets all of it, and a look-up that began before that is
 * neither kept nor shared with later ones; what another node creates is visible after `unknownMs`, counted
 * from before the statement that did not find it. Only an answer of SQL counts: a failure is never kept.
 * Bounded by number and by the length of a name. Wired by catalogue.ts.
 */
import { createSingleFlight } from '../../engine/tools/single-flight.ts';
import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';
import type { Sql } from '../sql/client.ts';

/** How long a name stays unknown after it was asked for, ms. Names of other nodes appear within 1 s (I9). */
export const unknownMs = 500;
/** Names kept, at most twice as many. */
const namesMax = 10_000;
/** No id, code or url is longer. */
const nameLengthMax = 128;

export interface UnknownNames {
  /** Whether SQL said lately that there is none. */
  has(name: string): boolean;
  /** Call before SQL is asked for the name; call what it gives when SQL said that there is none. */
  startLookup(name: string): () => void;
  /** Call when something may have got a name: after a commit, before it is acknowledged. */
  forgetAll(): void;
  /** Look-ups under way when this calls are not to be shared with later requests. */
  whenForgotten(forget: () => void): void;
}

export const createUnknownNames = (monotonicMs: () => number = () => performance.now()): UnknownNames => {
  const untilMs = createTwoGenerationCache<number>(namesMax);
  const listeners: (() => void)[] = [];
  let epoch = 0;
  return {
    has: (name) => (untilMs.get(name) ?? Number.NEGATIVE_INFINITY) > monotonicMs(),
    startLookup: (name) => {
      const [askedMs, askedIn] = [monotonicMs(), epoch];
      return () => {
        if (askedIn === epoch && name.length <= nameLengthMax) untilMs.set(name, askedMs + unknownMs);
      };
    },
    forgetAll: () => {
      epoch += 1;
      untilMs.clear();
      for (const forget of listeners) forget();
    },
    whenForgotten: (forget) => void listeners.push(forget),
  };
};

/** The names of one kind among all of them. */
export const createNamesOfKind = (unknown: UnknownNames, kind: string): UnknownNames => ({
  ...unknown,
  has: (name) => unknown.has(`${kind} ${name}`),
  startLookup: (name) => unknown.startLookup(`${kind} ${name}`),
});

/** Looks a name up: simultaneous look-ups of one name share one, and one of an unknown name costs nothing. */
export type LookUp<Found> = (name: string) => Promise<Found>;

/** `none` is what stands for an unknown name; `isNone` recognises it in an answer. */
export const createLookUp = <Found>(
  unknown: UnknownNames,
  { none, isNone, load }: { none: Found; isNone: (found: Found) => boolean; load: LookUp<Found> },
): LookUp<Found> => {
  const flights = createSingleFlight<Found>();
  unknown.whenForgotten(flights.detachAll);
  const start = async (name: string): Promise<Found> => {
    const isUnknown = unknown.startLookup(name);
    const found = await load(name);
    if (isNone(found)) isUnknown();
    return found;
  };
  return (name) => (unknown.has(name) ? Promise.resolve(none) : flights.share(name, () => start(name)));
};

/** The same pool; whoever waits for a transaction waits until its names are not unknown any more. */
export const forgetOnCommit = (sql: Sql, unknown: UnknownNames): Sql =>
  new Proxy(sql, {
    get: (target, key) =>
      key === 'begin'
        ? // Also after a failure: it may be one of the answer alone.
          (...words: Parameters<Sql['begin']>) => target.begin(...words).finally(unknown.forgetAll)
        : Reflect.get(target, key),
  });

/**
 * A seeded random generator: the same seed gives the same load in tests and benches. Not for secrets.
 */
/** Mulberry32: small, fast, and random enough for test data. */
export const createRandom = (seed: number) => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const sample = <Item>(items: readonly Item[], count: number): Item[] => {
    const rest = [...items];
    const size = Math.min(count, rest.length);
    return Array.from({ length: size }, () => rest.splice(integer(0, rest.length - 1), 1)[0] as Item);
  };
  const hexadecimal = (digits: number): string =>
    Array.from({ length: digits }, () => integer(0, 15).toString(16)).join('');
  return {
    /** 0 ≤ x < 1. */
    next,
    /** An integer from `min` to `max`, both included. */
    integer,
    /** An integer from 0 up to, not including, `limit`. */
    below: (limit: number): number => Math.floor(next() * limit),
    /** Distinct items, in random order. */
    sample,
    chance: (probability: number): boolean => next() < probability,
    pick: <Item>(items: readonly Item[]): Item => items[integer(0, items.length - 1)] as Item,
    uuid: (): string =>
      `${hexadecimal(8)}-${hexadecimal(4)}-4${hexadecimal(3)}-a${hexadecimal(3)}-${hexadecimal(12)}`,
  };
};

export type Random = ReturnType<typeof createRandom>;

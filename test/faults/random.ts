/**
 * Seeded chance for the fault tests: the same seed asks the same questions, in the order they are asked.
 *
 * Not for secrets.
 */

export interface Dice {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** From 0 up to, not including, `below`. */
  below(below: number): number;
  pick<Thing>(things: readonly Thing[]): Thing;
}

/** Mulberry32. */
export const createDice = (seed: number): Dice => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { next, below, pick: (things) => things[below(things.length)] as (typeof things)[number] };
};

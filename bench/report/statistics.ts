/**
 * Medians and spreads of rounds. Pure.
 */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Needs at least one value. */
export const computeSpread = (values: readonly number[]): Spread => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const at = (index: number): number => sorted[index] as number;
  const median = Number.isInteger(middle) ? (at(middle - 1) + at(middle)) / 2 : at(Math.floor(middle));
  return { median, min: at(0), max: at(sorted.length - 1) };
};

/** The value that this share of all does not exceed; NaN without values. */
export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

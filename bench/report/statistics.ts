/**
 * Medians and spreads of rounds, and lines through points. Pure.
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

/** The sum of what `count` finds in each. */
export const sumOf = <Item>(items: readonly Item[], count: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + count(item), 0);

/** The value that this share of all does not exceed; NaN without values. */
export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

/** `p50 1.2 ms, p99 3.4 ms`. */
export const describePercentiles = (ms: readonly number[], digits: number): string =>
  [50, 99].map((share) => `p${share} ${percentile(ms, share / 100).toFixed(digits)} ms`).join(', ');

export interface Point {
  readonly x: number;
  readonly y: number;
  /** 1 if absent. */
  readonly weight?: number;
}

/** The line with the least sum of weighted squares; through the mean and flat where all have one `x`. */
export const computeLine = (points: readonly Point[]): { readonly fixed: number; readonly slope: number } => {
  const sum = (pick: (point: Point) => number): number =>
    points.reduce((total, point) => total + (point.weight ?? 1) * pick(point), 0);
  const weights = sum(() => 1);
  if (weights === 0) return { fixed: 0, slope: 0 };
  const [meanX, meanY] = [sum(({ x }) => x) / weights, sum(({ y }) => y) / weights];
  const spread = sum(({ x }) => (x - meanX) ** 2);
  const slope = spread === 0 ? 0 : sum(({ x, y }) => (x - meanX) * (y - meanY)) / spread;
  return { fixed: meanY - slope * meanX, slope };
};

/**
 * What a directory of any size needs, as a line through what smaller ones took: a fixed part, and a part for
 * each listing. Pure.
 */

/** What is measured at one size; by name, each in its unit. */
export type Needs = Readonly<Record<string, number>>;
export interface Size {
  readonly listings: number;
  readonly needs: Needs;
}
export interface MeasuredSize extends Size {
  /** What memory grew by when 10,000 listings more were in use; `null` where there are not so many. */
  readonly inUse: Needs | null;
}

export interface Line {
  readonly fixed: number;
  readonly perListing: number;
}

/** The line with the least squares of relative errors: sizes are far apart, and each counts as much. */
export const fitLine = (points: readonly (readonly [listings: number, value: number])[]): Line => {
  let [weights, xs, ys, xxs, xys] = [0, 0, 0, 0, 0];
  for (const [x, y] of points) {
    const weight = y === 0 ? 1 : 1 / y ** 2;
    weights += weight;
    xs += weight * x;
    ys += weight * y;
    xxs += weight * x * x;
    xys += weight * x * y;
  }
  const spread = weights * xxs - xs * xs;
  const perListing = spread === 0 ? 0 : (weights * xys - xs * ys) / spread;
  return { fixed: weights === 0 ? 0 : (ys - perListing * xs) / weights, perListing };
};

/** What grows with the listings. Memory is for those in use, and requests take as long whatever is there. */
const growing: readonly string[] = ['disk MiB'];
/** What the settings of Postgres decide. */
const notPredicted: readonly string[] = ['Postgres MiB', 'WAL MiB'];

const computeMedian = (values: readonly number[]): number =>
  [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

/** Fits each need. */
export const fitModel = (sizes: readonly Size[]): Readonly<Record<string, Line>> => {
  const fit = (name: string): Line => {
    const points = sizes.map(({ listings, needs }) => [listings, needs[name] ?? 0] as const);
    if (growing.includes(name)) return fitLine(points);
    return { fixed: computeMedian(points.map(([, value]) => value)), perListing: 0 };
  };
  const names = Object.keys(sizes[0]?.needs ?? {}).filter((name) => !notPredicted.includes(name));
  return Object.fromEntries(names.map((name) => [name, fit(name)]));
};

export const predict = (model: Readonly<Record<string, Line>>, listings: number): Size => ({
  listings,
  needs: Object.fromEntries(
    Object.entries(model).map(([name, line]) => [name, line.fixed + line.perListing * listings]),
  ),
});

/** Measured ÷ predicted, by name. */
export const compareNeeds = (measured: Needs, predicted: Needs): Needs =>
  Object.fromEntries(
    Object.entries(predicted).map(([name, value]) => [name, value === 0 ? 1 : (measured[name] ?? 0) / value]),
  );

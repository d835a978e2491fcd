/**
 * What a directory of any size needs, as a line through what smaller ones took: a fixed part, and a part for
 * each listing. Pure.
 */
import { computeLine, computeSpread } from '../report/statistics.ts';

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
  const { fixed, slope } = computeLine(points.map(([x, y]) => ({ x, y, weight: y === 0 ? 1 : 1 / y ** 2 })));
  return { fixed, perListing: slope };
};

/** What grows with the listings; memory follows those in use alone, and requests take as long at any size. */
const growing: readonly string[] = ['disk MiB'];
/** What the settings of Postgres decide, and a time of a job beside requests. */
const notPredicted: readonly string[] = ['Postgres MiB', 'WAL MiB', 'boards s'];

/** Fits each need. */
export const fitModel = (sizes: readonly Size[]): Readonly<Record<string, Line>> => {
  const fit = (name: string): Line => {
    const points = sizes.map(({ listings, needs }) => [listings, needs[name] ?? 0] as const);
    if (growing.includes(name)) return fitLine(points);
    return { fixed: computeSpread(points.map(([, value]) => value)).median, perListing: 0 };
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

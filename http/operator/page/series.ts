/**
 * Turns the points of the live stream into what a chart draws: a second without a value, and a time without
 * points, are gaps in its lines. Pure.
 */
import type { LivePoint } from '../../telemetry/node-status.ts';

export type PointField = Exclude<keyof LivePoint, 'at_ms'>;
type Values = (number | null)[];

/** Points come each second; after a longer time than this some are missing. */
const stepMsMax = 3_000;

/** The times in seconds, then the values of each field. */
export const toSeries = (
  points: readonly LivePoint[],
  fields: readonly PointField[],
): [times: number[], ...values: Values[]] => {
  const times: number[] = [];
  const values = fields.map((): Values => []);
  let lastMs = points[0]?.at_ms ?? 0;
  for (const point of points) {
    const isLate = point.at_ms - lastMs > stepMsMax;
    if (isLate) {
      times.push((lastMs + 1_000) / 1_000);
      for (const line of values) line.push(null);
    }
    times.push(point.at_ms / 1_000);
    for (const [at, line] of values.entries()) line.push(point[fields[at] as PointField]);
    lastMs = point.at_ms;
  }
  return [times, ...values];
};

/** The values between two gaps: no line shows them, so they need a dot. */
export const findLonely = (values: readonly (number | null | undefined)[]): number[] =>
  values.flatMap((value, at) =>
    (value ?? null) !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null
      ? [at]
      : [],
  );

/**
 * What one server did under one load in one round, and how rounds are compared: a ratio is taken within each
 * round (all servers measured one after the other) and then over rounds, so that a machine which slows down
 * for a while affects both. Pure.
 */
import { percentiles } from '../load/order.ts';
import { computeSpread, type Spread } from './statistics.ts';

/** Of each request where nothing else is said; CPU in microseconds. */
export interface Row {
  readonly scenario: string;
  readonly server: string;
  /** `one-core`, `free`, `saturation`, or a rate such as `50/s`. */
  readonly load: string;
  readonly round: number;
  readonly requests: number;
  /** Answers other than 2xx by status; `no answer` counts the requests without one. */
  readonly failures: Readonly<Record<string, number>>;
  /** Milliseconds at each of `percentiles`. */
  readonly latencyMs: readonly number[];
  readonly serverUs: number;
  readonly redisUs: number;
  readonly postgresUs: number;
  readonly wakeUps: number;
  /** Sent to the disk by server and stores. */
  readonly diskBytes: number;
  /** Of the server, in all. */
  readonly residentBytes: number;
  /** What servers and stores count; only at a steady rate. */
  readonly redisCommands?: number;
  readonly statements?: number;
  /** Only where a generator sends as much as the server takes, or as it says. */
  readonly saturated?: {
    readonly requestsPerSecond: number;
    /** Received, headers included. */
    readonly bytes: number;
    /** Answers in each slice of the measured time; empty when the generator does not report them. */
    readonly perSlice: readonly number[];
    /** Cores that the server and the generator used. */
    readonly cores: number;
    readonly generatorBusy: number;
  };
}
export type Value = (row: Row) => number;

export const totalOf: Value = ({ serverUs, redisUs, postgresUs }) => serverUs + redisUs + postgresUs;
export const withRedisOf: Value = ({ serverUs, redisUs }) => serverUs + redisUs;
export const serverOf: Value = ({ serverUs }) => serverUs;
export const latencyOf =
  (percentile: (typeof percentiles)[number]): Value =>
  ({ latencyMs }) =>
    latencyMs[percentiles.indexOf(percentile)] ?? 0;
export const rateOf: Value = ({ saturated }) => saturated?.requestsPerSecond ?? 0;

export const countFailed = (rows: readonly Row[]): number =>
  Object.values(sumFailures(rows)).reduce((sum, count) => sum + count, 0);

export const sumFailures = (rows: readonly Row[]): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {};
  for (const { failures } of rows)
    for (const [status, count] of Object.entries(failures)) sums[status] = (sums[status] ?? 0) + count;
  return sums;
};

/** `409: 1,200, no answer: 3`. */
export const formatFailures = (failures: Readonly<Record<string, number>>): string =>
  Object.entries(failures)
    .map(([status, count]) => `${status}: ${count.toLocaleString('en-US')}`)
    .join(', ');

/** Rows of one scenario, server and load over rounds, in the order in which each came first. */
export const groupRows = (rows: readonly Row[]): readonly (readonly [Row, ...Row[]])[] =>
  [...Map.groupBy(rows, ({ scenario, server, load }) => `${scenario} ${server} ${load}`).values()] as never;

export const medianOf = (rows: readonly Row[], value: Value): number => computeSpread(rows.map(value)).median;

/** Ratios of the same round and load; a round with a failure has none, `null` where no round has one. */
export const compareRounds = (
  ours: readonly Row[],
  others: readonly Row[],
  { value, divisor = value }: { readonly value: Value; readonly divisor?: Value },
): Spread | null => {
  const ratios = ours.flatMap((row) => {
    const other = others.find(({ round, load }) => round === row.round && load === row.load);
    const below = other === undefined || countFailed([row, other]) > 0 ? 0 : divisor(other);
    return below > 0 ? [value(row) / below] : [];
  });
  return ratios.length === 0 ? null : computeSpread(ratios);
};

export const roundRatio = (value: number): number => Math.round(value * 1_000) / 1_000;
/** As tools read it. */
export const nameServer = (server: string): string =>
  server === 'bare' ? 'bare_uws' : server.replaceAll('-', '_');

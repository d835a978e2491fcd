/**
 * Compares two commits that were measured by turns: ratios NEW ÷ OLD within rounds, and what is dearer. Pure.
 */
import { computeSpread, type Spread } from '../report/statistics.ts';
import type { Table } from '../report/table.ts';

export const sides = ['OLD', 'NEW'] as const;
export type SideName = (typeof sides)[number];

/** One side in one round. CPU and bytes to the disk are those of one request. */
export interface TurnRow {
  readonly side: SideName;
  readonly stores: string;
  readonly scenario: string;
  /** `50/s`, or `saturation`. */
  readonly load: string;
  readonly round: number;
  readonly failed: number;
  /** Of the server, Redis and Postgres. */
  readonly totalUs: number;
  readonly serverUs: number;
  readonly p50Ms: number;
  readonly diskBytes: number;
  /** Resident, of the server. */
  readonly memoryBytes: number;
}

/** In the order of the table. */
const figures = {
  'total CPU': ({ totalUs }) => totalUs,
  'server CPU': ({ serverUs }) => serverUs,
  p50: ({ p50Ms }) => p50Ms,
  'disk bytes': ({ diskBytes }) => diskBytes,
  memory: ({ memoryBytes }) => memoryBytes,
} as const satisfies Readonly<Record<string, (row: TurnRow) => number>>;
type Figure = keyof typeof figures;

export interface Comparison {
  readonly name: string;
  /** `null` where no round has a ratio: something failed, or OLD has 0. */
  readonly ratios: Readonly<Record<Figure, Spread | null>>;
  readonly failed: number;
}

const dearerFrom = 1.02;

const compareRows = (name: string, rows: readonly TurnRow[]): Comparison => {
  const pairs = rows
    .filter(({ side }) => side === 'NEW')
    .map((next) => ({ next, old: rows.find(({ side, round }) => side === 'OLD' && round === next.round) }));
  const spread = (value: (row: TurnRow) => number): Spread | null => {
    const ratios = pairs.flatMap(({ next, old }) =>
      old === undefined || old.failed + next.failed > 0 || value(old) === 0 ? [] : [value(next) / value(old)],
    );
    return ratios.length === 0 ? null : computeSpread(ratios);
  };
  const entries = Object.entries(figures).map(([figure, value]) => [figure, spread(value)]);
  const ratios = Object.fromEntries(entries) as Comparison['ratios'];
  return { name, ratios, failed: rows.reduce((sum, { failed }) => sum + failed, 0) };
};

/** A comparison for each scenario, load and kind of stores, in the order of the rows. */
export const compareTurns = (rows: readonly TurnRow[]): readonly Comparison[] =>
  [...Map.groupBy(rows, ({ stores, scenario, load }) => `${stores} ${scenario} ${load}`)].map((group) =>
    compareRows(...group),
  );

const show = (spread: Spread | null): string =>
  spread === null ? '–' : [spread.min, spread.median, spread.max].map((one) => one.toFixed(2)).join(' ');

export const buildTurnsTable = (comparisons: readonly Comparison[]): Table => ({
  head: ['NEW ÷ OLD: min median max', ...Object.keys(figures), 'failed'],
  textColumns: 1,
  rows: comparisons.map(({ name, ratios, failed }) => [
    name,
    ...Object.values(ratios).map(show),
    String(failed),
  ]),
});

/** A line for each whose total CPU is dearer by more than 2 % in the median of its rounds. */
export const listDearer = (comparisons: readonly Comparison[]): readonly string[] =>
  comparisons.flatMap(({ name, ratios: { 'total CPU': spread } }) => {
    if (spread === null) return [`${name}: not compared, no round is without a failure`];
    if (spread.median <= dearerFrom) return [];
    const rounds = spread.min > dearerFrom ? 'in every round' : `rounds differ: ${show(spread)}`;
    return [`${name}: dearer by ${((spread.median - 1) * 100).toFixed(1)} % (${rounds})`];
  });

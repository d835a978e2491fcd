/**
 * Compares two commits that were measured by turns: ratios NEW ÷ OLD within rounds, and what is dearer. Pure.
 */
import {
  compareRounds,
  countFailed,
  latencyOf,
  type Row,
  serverOf,
  totalOf,
  type Value,
} from '../report/rows.ts';
import type { Spread } from '../report/statistics.ts';
import { type Column, type Table, tabulate } from '../report/table.ts';

export const sides = ['OLD', 'NEW'] as const;

/** In the order of the table. */
const figures = {
  'total CPU': totalOf,
  'server CPU': serverOf,
  p50: latencyOf(50),
  'disk bytes': ({ diskBytes }) => diskBytes,
  memory: ({ residentBytes }) => residentBytes,
} as const satisfies Readonly<Record<string, Value>>;
type Figure = keyof typeof figures;

export interface Comparison {
  readonly name: string;
  /** `null` where no round has a ratio: something failed, or OLD has 0. */
  readonly ratios: Readonly<Record<Figure, Spread | null>>;
  readonly failed: number;
}

const dearerFrom = 1.02;

/** A comparison for each scenario and load, in the order of the rows; the servers are the sides. */
export const compareTurns = (rows: readonly Row[]): readonly Comparison[] =>
  [...Map.groupBy(rows, ({ scenario, load }) => `${scenario} ${load}`)].map(([name, own]) => {
    const [old, next] = sides.map((side) => own.filter(({ server }) => server === side)) as [Row[], Row[]];
    const ratios = Object.entries(figures).map(([figure, value]) => [
      figure,
      compareRounds(next, old, { value }),
    ]);
    return { name, ratios: Object.fromEntries(ratios), failed: countFailed(own) };
  });

const show = (spread: Spread | null): string =>
  spread === null ? '–' : [spread.min, spread.median, spread.max].map((one) => one.toFixed(2)).join(' ');

export const buildTurnsTable = (comparisons: readonly Comparison[]): Table =>
  tabulate(comparisons, [
    ['NEW ÷ OLD: min median max', ({ name }) => name],
    ...(Object.keys(figures) as Figure[]).map(
      (figure): Column<Comparison> => [figure, ({ ratios }) => show(ratios[figure])],
    ),
    ['failed', ({ failed }) => failed],
  ]);

/** A line for each whose total CPU is dearer by more than 2 % in the median of its rounds. */
export const listDearer = (comparisons: readonly Comparison[]): readonly string[] =>
  comparisons.flatMap(({ name, ratios: { 'total CPU': spread } }) => {
    if (spread === null) return [`${name}: not compared, no round is without a failure`];
    if (spread.median <= dearerFrom) return [];
    const rounds = spread.min > dearerFrom ? 'in every round' : `rounds differ: ${show(spread)}`;
    return [`${name}: dearer by ${((spread.median - 1) * 100).toFixed(1)} % (${rounds})`];
  });

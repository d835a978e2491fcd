/**
 * Compares two results, before and after: better, worse or noise, figure by figure. Pure.
 *
 * A change counts only when the ranges over rounds do not overlap and the medians differ by more than the
 * threshold. Results of different machines, stores or loads are not compared.
 */
import type { Machine } from '../machine/machine.ts';
import { latencyOf, type Row, rateOf, serverOf, totalOf, type Value } from './rows.ts';
import { computeSpread, type Spread } from './statistics.ts';
import { compareServers, type Summary, summariseRows } from './summary.ts';
import { type Table, tabulate } from './table.ts';

/** What `--json` of the suite and of `load` writes. */
export interface Result {
  readonly version: 3;
  readonly machine: Machine;
  /** What must be the same in both. */
  readonly facts: Readonly<Record<string, string | number>>;
  readonly rows: readonly Row[];
}

export type Verdict = 'better' | 'worse' | 'noise';

/** A smaller difference of medians is noise, however narrow the ranges. */
const thresholdShare = 0.05;

export const judgeChange = (before: Spread, after: Spread, isLessBetter: boolean): Verdict => {
  const overlap = before.min <= after.max && after.min <= before.max;
  const change = before.median === 0 ? 0 : Math.abs(after.median / before.median - 1);
  if (overlap || change < thresholdShare) return 'noise';
  return after.median < before.median === isLessBetter ? 'better' : 'worse';
};

interface Figure {
  readonly scenario: string;
  readonly figure: string;
  readonly isLessBetter: boolean;
  readonly spread: Spread;
}

/** Rollcall's figures: those of the suite by scenario, those at a rate by scenario and rate. */
const listFigures = ({ rows }: Result): readonly Figure[] => {
  const named = rows.map((row) =>
    row.saturated ? row : { ...row, scenario: `${row.scenario} at ${row.load}` },
  );
  const summaries = summariseRows(named);
  const ratios = compareServers(summaries);
  const toFigures = ({ scenario, forCpu, forRate, rows: own }: Summary): readonly Figure[] => {
    const spread = (some: readonly Row[], value: Value): Spread => computeSpread(some.map(value));
    const cpu = ratios.find(
      (one) => one.scenario === scenario && one.ours === 'rollcall' && one.to === 'bare',
    )?.cpu;
    const less = { scenario, isLessBetter: true };
    if (own.some(({ saturated }) => saturated === undefined))
      return [
        { ...less, figure: 'CPU µs/request of all', spread: spread(own, totalOf) },
        { ...less, figure: 'p50 ms', spread: spread(own, latencyOf(50)) },
      ];
    return [
      { scenario, figure: 'requests/s', isLessBetter: false, spread: spread(forRate, rateOf) },
      { ...less, figure: 'CPU µs/request', spread: spread(forCpu, serverOf) },
      ...(cpu ? [{ ...less, figure: 'CPU ÷ bare', spread: cpu }] : []),
    ];
  };
  return summaries.filter(({ server }) => server === 'rollcall').flatMap(toFigures);
};

/** The reasons why these two cannot be compared; empty when they can. */
export const findDifferences = (before: Result, after: Result): string[] => {
  const factsOf = ({ machine, facts }: Result): Result['facts'] => ({
    processor: machine.processor,
    cores: machine.cores,
    ...facts,
  });
  const [old, now] = [factsOf(before), factsOf(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => old[name] !== now[name])
    .map((name) => `${name}: ${old[name]} before, ${now[name]} after`);
};

/** Rollcall's figures that both have. */
export const compareResults = (before: Result, after: Result) => {
  const later = listFigures(after);
  return listFigures(before).flatMap(({ scenario, figure, isLessBetter, spread }) => {
    const now = later.find((one) => one.scenario === scenario && one.figure === figure);
    if (now === undefined) return [];
    const verdict = judgeChange(spread, now.spread, isLessBetter);
    return [{ scenario, figure, before: spread.median, after: now.spread.median, verdict }];
  });
};
type Compared = ReturnType<typeof compareResults>[number];

const format = (value: number): string => (value >= 100 ? Math.round(value).toString() : value.toFixed(2));
const formatChange = ({ before, after }: Compared): string => {
  const change = before === 0 ? 0 : (after / before - 1) * 100;
  return `${change > 0 ? '+' : ''}${change.toFixed(1)} %`;
};

export const buildCompareTable = (compared: readonly Compared[]): Table =>
  tabulate(
    compared,
    [
      ['scenario', ({ scenario }) => scenario],
      ['figure', ({ figure }) => figure],
      ['verdict', ({ verdict }) => verdict],
      ['before', ({ before }) => format(before)],
      ['after', ({ after }) => format(after)],
      ['change', formatChange],
    ],
    3,
  );

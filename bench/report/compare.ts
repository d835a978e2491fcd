/**
 * Compares two results of the suite, before and after: better, worse or noise, figure by figure. Pure.
 *
 * A change counts only when the ranges over rounds do not overlap and the medians differ by more than the
 * threshold. Results of different machines, stores or loads are not compared.
 */
import type { Result, ScenarioFigures, ServerFigures } from './result.ts';
import type { Spread } from './statistics.ts';
import type { Table } from './table.ts';

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
  readonly name: string;
  readonly isLessBetter: boolean;
  readonly of: (figures: ServerFigures, scenario: ScenarioFigures) => Spread | null;
}
const figures: readonly Figure[] = [
  { name: 'requests/s', isLessBetter: false, of: ({ requestsPerSecond }) => requestsPerSecond },
  { name: 'CPU µs/request', isLessBetter: true, of: ({ cpuUs }) => cpuUs },
  {
    name: 'CPU ÷ bare',
    isLessBetter: true,
    of: (_, { ratios }) => ratios.find(({ ours, to }) => ours === 'rollcall' && to === 'bare')?.cpu ?? null,
  },
];

export interface Compared {
  readonly scenario: string;
  readonly figure: string;
  readonly before: number;
  readonly after: number;
  readonly verdict: Verdict;
}

/** The reasons why these two cannot be compared; empty when they can. */
export const findDifferences = (before: Result, after: Result): string[] => {
  const facts: [string, (result: Result) => unknown][] = [
    ['version', ({ version }) => version],
    ['processor', ({ machine }) => machine.processor],
    ['cores', ({ machine }) => machine.cores],
    ['stores', ({ stores }) => stores],
    ['load', ({ load }) => load],
    ['connections', ({ connections }) => connections],
    ['rate', ({ rate }) => rate],
    ['placements', ({ placements }) => String(placements)],
  ];
  return facts
    .filter(([, of]) => of(before) !== of(after))
    .map(([name, of]) => `${name}: ${of(before)} before, ${of(after)} after`);
};

/** Rollcall's figures of every scenario that both have. */
export const compareResults = (before: Result, after: Result): Compared[] =>
  before.scenarios.flatMap((old) => {
    const now = after.scenarios.find(({ scenario }) => scenario === old.scenario);
    const [own, other] = [old.servers.rollcall, now?.servers.rollcall];
    if (now === undefined || own === undefined || other === undefined) return [];
    return figures.flatMap(({ name, isLessBetter, of }) => {
      const [from, to] = [of(own, old), of(other, now)];
      if (from === null || to === null) return [];
      const verdict = judgeChange(from, to, isLessBetter);
      return [{ scenario: old.scenario, figure: name, before: from.median, after: to.median, verdict }];
    });
  });

const digits = (value: number): string => (value >= 100 ? Math.round(value).toString() : value.toFixed(2));

export const buildCompareTable = (compared: readonly Compared[]): Table => ({
  head: ['scenario', 'figure', 'verdict', 'before', 'after', 'change'],
  textColumns: 3,
  rows: compared.map(({ scenario, figure, before, after, verdict }) => {
    const change = before === 0 ? 0 : (after / before - 1) * 100;
    const sign = change > 0 ? '+' : '';
    return [scenario, figure, verdict, digits(before), digits(after), `${sign}${change.toFixed(1)} %`];
  }),
});

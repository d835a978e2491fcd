/**
 * Results of the bench suite as its tests need them: small, whole, with one thing changed.
 */
import { parseArguments } from '../../bench/arguments.ts';
import { type Report, renderReport } from '../../bench/command.ts';
import { percentiles } from '../../bench/load/order.ts';
import type { Row } from '../../bench/report/rows.ts';
import { describeSuite, type SuiteResult } from '../../bench/report/suite.ts';
import { alignColumns, renderMarkdownTable } from '../../bench/report/table.ts';

/** One row; `failed` answers were 503. */
export const rowOf = ({
  failed = 0,
  generatorBusy = 0.5,
  ...changes
}: Partial<Row> & { readonly generatorBusy?: number; readonly failed?: number } = {}): Row => ({
  ...{ scenario: 'stats', server: 'rollcall', round: 1, load: 'one-core', requests: 1_000 },
  ...{ serverUs: 20, redisUs: 5, postgresUs: 1, wakeUps: 2, diskBytes: 0, residentBytes: 100_000_000 },
  failures: failed > 0 ? { 503: failed } : {},
  latencyMs: percentiles.map((_, index) => index + 1),
  saturated: {
    ...{ requestsPerSecond: 1_000, bytes: 200_000, perSlice: [100, 120, 90], cores: 0.5, generatorBusy },
  },
  ...changes,
});

export const machine = {
  ...{ processor: 'a processor', cores: 2, memoryGib: 4, system: 'linux x64', node: '22.0.0' },
  ...{ date: '2026-01-02T03:04:05.000Z', commit: 'abc1234', loadBefore: 0 },
};

/** The report of these rows. */
export const reportOf = (rows: Row[], more: Partial<SuiteResult> = {}): Report =>
  describeSuite({
    ...{ options: parseArguments([]), load: 'autocannon', rows, steady: [], moments: [], problems: [] },
    notes: [
      'Of 1,000 simultaneous votes of a user for one bot, fastify-sql accepted 7; one would be correct.',
    ],
    ...more,
  });

export const toText = (report: Report): string => renderReport(report, machine, alignColumns);
export const toMarkdown = (report: Report): string => renderReport(report, machine, renderMarkdownTable);

/** What `--json` writes. */
export const resultOf = (rows: Row[], more: Partial<SuiteResult> = {}) =>
  JSON.parse(JSON.stringify({ machine, ...reportOf(rows, more).figures }));

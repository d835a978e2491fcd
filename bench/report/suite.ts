/**
 * What a run of the suite, or a load on a server that already runs, has measured, and its report: settings,
 * figures, ratios, notes, charts.
 */
import type { SuiteOptions } from '../arguments.ts';
import type { Report } from '../command.ts';
import { measureSyncMs } from '../machine/sync.ts';
import { changedSettings } from '../servers/rollcall.ts';
import {
  drawCpuBars,
  drawFlushLag,
  drawLatency,
  drawMemory,
  drawRateBars,
  drawThroughput,
} from './charts.ts';
import { describeProfile } from './profile.ts';
import { type Row, serverOf } from './rows.ts';
import { buildSteadyTable, collectSteadyRatios, describeSteady } from './steady.ts';
import {
  buildRatioTable,
  buildServerTable,
  collectRatios,
  describeLag,
  listNotes,
  type Moment,
  summariseRows,
} from './summary.ts';
import { formatGrouped } from './table.ts';

/** What was measured, as the report has it. */
export interface SuiteResult {
  readonly options: SuiteOptions;
  readonly load: string;
  readonly rows: Row[];
  /** At 50 requests a second. */
  readonly steady: Row[];
  readonly notes: string[];
  readonly moments: Moment[];
  /** What could not be measured, and why. */
  readonly problems: string[];
}

const describeSettings = ({ options, load, rows }: SuiteResult): readonly string[] => {
  const { target, stores, connections, rate, measureSeconds } = options;
  const on =
    target?.url ?? (stores === 'redis' ? 'Redis (appendfsync always) and Postgres' : 'embedded stores');
  const loop = rate > 0 ? `open loop at ${formatGrouped(rate)} requests/s` : 'closed loop';
  const rounds = summariseRows(rows).map((one) => new Set(one.rows.map(({ round }) => round)).size);
  const counts = [...new Set([Math.min(...rounds), Math.max(...rounds)])].join(' to ');
  const changed = Object.entries(target === null ? changedSettings : {}).map((pair) => pair.join('='));
  const method = rows.some(({ load: placement }) => placement === 'one-core')
    ? 'CPU per request: server and generator on one core, so that all servers are under the same load. ' +
      'Requests/s and latency: placed by the system where that was measured (see bench/README.md).'
    : 'CPU per request and requests/s: processes placed by the system.';
  return [
    `${on}; ${load}, ${connections} connections, ${loop}; ` +
      `${counts} alternating rounds of ${measureSeconds} s; settings changed: ${changed.join(' ') || 'none'}`,
    ...(rows.some((row) => serverOf(row) > 0) ? [method] : []),
  ];
};

/** Also of a server that already runs. */
export const describeSuite = (result: SuiteResult): Report => {
  const { options, load, rows, steady, notes, moments, problems } = result;
  if (rows.length + notes.length === 0) return { parts: ['Nothing was measured.'] };
  const ratios = buildRatioTable(rows);
  const syncMs = steady.length === 0 ? 0 : measureSyncMs();
  const { stores, target, connections, rate, placements } = options;
  const summaries = [...Map.groupBy(summariseRows(rows), ({ scenario }) => scenario)];
  return {
    parts: [
      ...describeSettings(result),
      buildServerTable(rows),
      ...(ratios === null ? [] : ['Rollcall ÷ another, median of rounds (lowest–highest)', ratios]),
      ...(steady.length === 0 ? [] : [describeSteady(steady, syncMs), buildSteadyTable(steady)]),
      ...[...notes, ...describeLag(moments), ...listNotes(rows)],
      ...(options.profileDir === null ? [] : [`\n${describeProfile(options.profileDir, 25)}`]),
    ],
    figures: {
      version: 3,
      facts: { stores: target?.url ?? stores, load, connections, rate, placements: placements.join() },
      ratios: { ...collectRatios(rows), ...collectSteadyRatios(steady) },
      ...{ rows, steady, syncMs, notes, moments, problems },
    },
    faults: problems.map((problem) => `Not measured: ${problem}`),
    charts: () => ({
      wide: [...(rows.some((row) => serverOf(row) > 0) ? [drawCpuBars(rows)] : []), drawRateBars(rows)],
      others: [
        ...summaries.flatMap((one) => [drawLatency(...one), drawThroughput(...one) ?? []].flat()),
        ...(moments.length > 1 ? [drawMemory(moments), drawFlushLag(moments)] : []),
      ],
    }),
  };
};

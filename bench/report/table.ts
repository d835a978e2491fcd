/**
 * A result as text for a terminal or a ticket. Pure.
 */
import { percentiles } from '../load/order.ts';
import { scenarioOf } from '../scenarios/all.ts';
import { serverNames } from '../servers/contestants.ts';
import type { RatioFigures, Result, ScenarioFigures, ServerFigures } from './result.ts';
import type { Spread } from './statistics.ts';

export const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');
const range = ({ median, min, max }: Spread, digits: number): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
const at = ({ latencyMs }: ServerFigures, percentile: number): string =>
  (latencyMs[(percentiles as readonly number[]).indexOf(percentile)] ?? 0).toFixed(1);

const headings = [
  'scenario',
  'server',
  'requests/s',
  'p50',
  'p90',
  'p99',
  'p99.9 ms',
  'CPU µs/request',
  'Redis',
  'Postgres',
  'bytes',
  'failed',
  'busy',
];

const rowOf = (scenario: string, server: string, figures: ServerFigures): string[] => [
  scenario,
  server,
  grouped(figures.requestsPerSecond.median),
  at(figures, 50),
  at(figures, 90),
  at(figures, 99),
  at(figures, 99.9),
  range(figures.cpuUs, 1),
  figures.redisCpuUs.median.toFixed(1),
  figures.postgresCpuUs.median.toFixed(1),
  grouped(figures.bytesPerRequest),
  String(figures.failed),
  `${Math.round(figures.cores.median * 100)}/${Math.round(figures.generatorBusy.median * 100)}`,
];

const ratioRows = ({ scenario, ratios }: ScenarioFigures): string[][] =>
  ratios.map(({ to, cpu, rate }: RatioFigures) => [
    scenario,
    to,
    cpu === null ? '–' : range(cpu, 2),
    to === 'bare' && scenarioOf(scenario).targetRatio !== null ? `≤ ${scenarioOf(scenario).targetRatio}` : '',
    rate === null ? '–' : range(rate, 2),
  ]);

/** Columns as wide as their widest cell; words to the left, numbers to the right. */
export const align = (rows: readonly (readonly string[])[], left: number): string => {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

const notesOf = (result: Result): string[] => {
  const servers = result.scenarios.flatMap((one) => Object.values(one.servers));
  const { cores, loadBefore } = result.machine;
  return [
    ...(servers.some(({ failed }) => failed > 0)
      ? ['Some answers were not 2xx: those figures are not to be trusted.']
      : []),
    ...(loadBefore > cores / 2
      ? [`The machine was busy before the run began (load ${loadBefore} on ${cores} cores).`]
      : []),
    ...(result.interrupted ? ['Interrupted: medians are over fewer rounds.'] : []),
  ];
};

/** The whole report. */
export const reportText = (result: Result): string => {
  const { machine, scenarios } = result;
  const rows = scenarios.flatMap(({ scenario, servers }) =>
    serverNames.flatMap((name) => {
      const figures = servers[name];
      return figures === undefined ? [] : [rowOf(scenario, name, figures)];
    }),
  );
  const rounds = Math.min(...scenarios.map((one) => one.rounds));
  return [
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, ` +
      `Node ${machine.node}; ${machine.date.slice(0, 16).replace('T', ' ')} UTC, commit ${machine.commit}`,
    `stores ${result.stores}; ${result.load}, ${result.connections} connections, placement ${result.placement}, ` +
      `${rounds} alternating rounds of ${result.measureSeconds} s`,
    `settings changed: ${Object.entries(result.settings)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
    '',
    align([headings, ...rows], 2),
    '',
    'Rollcall ÷ another, median of rounds (lowest–highest)',
    align([['', 'other', 'server CPU', 'target', 'requests/s'], ...scenarios.flatMap(ratioRows)], 2),
    '',
    ...notesOf(result),
  ]
    .join('\n')
    .trimEnd();
};

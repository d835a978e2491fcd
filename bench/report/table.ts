/**
 * A result as text for a terminal or a ticket. Pure.
 */
import type { Result, ScenarioFigures, ServerFigures, ServerName } from './result.ts';
import type { Spread } from './statistics.ts';

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');
const range = ({ median, min, max }: Spread, digits: number): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;

const headings = [
  'scenario',
  'server',
  'requests/s',
  'p50 ms',
  'p99 ms',
  'CPU µs/request',
  'event loop µs',
  'generator',
  'not 2xx',
];

const rowOf = (scenario: string, server: ServerName, figures: ServerFigures): string[] => [
  scenario,
  server,
  grouped(figures.requestsPerSecond.median),
  figures.p50Ms.median.toFixed(1),
  figures.p99Ms.median.toFixed(1),
  range(figures.cpuUs, 1),
  figures.mainCpuUs.median.toFixed(1),
  `${Math.round(figures.generatorBusy.median * 100)} %${figures.generatorLimited ? ' *' : ''}`,
  String(figures.failed),
];

const ratioRow = ({
  scenario,
  cpuRatio,
  mainCpuRatio,
  rateRatio,
  targetRatio,
}: ScenarioFigures): string[] => [
  scenario,
  cpuRatio === null ? '–' : range(cpuRatio, 2),
  mainCpuRatio === null ? '–' : mainCpuRatio.median.toFixed(2),
  `≤ ${targetRatio}`,
  rateRatio === null ? '–' : range(rateRatio, 2),
];

/** Columns as wide as their widest cell; words to the left, numbers to the right. */
const align = (rows: readonly (readonly string[])[], left: number): string => {
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
  const limited = result.scenarios.some(({ servers }) =>
    Object.values(servers).some((server) => server.generatorLimited),
  );
  const failed = result.scenarios.some(({ servers }) =>
    Object.values(servers).some((server) => server.failed > 0),
  );
  const { cores, loadBefore } = result.machine;
  return [
    ...(limited
      ? [
          '* The load generator was the bottleneck: requests/s are its own. A server that idles between',
          '  requests uses more CPU for each, so ratios to a bare one that idles look too good.',
        ]
      : []),
    ...(failed ? ['Some answers were not 2xx: those figures are not to be trusted.'] : []),
    ...(loadBefore > cores / 2
      ? [`The machine was busy before the run began (load ${loadBefore} on ${cores} cores).`]
      : []),
    ...(result.interrupted ? ['Interrupted: medians are over fewer rounds.'] : []),
  ];
};

/** The whole report. */
export const reportText = (result: Result): string => {
  const { machine, scenarios } = result;
  const servers = scenarios.flatMap(({ scenario, servers }) =>
    (['bare', 'rollcall'] as const).flatMap((name) => {
      const figures = servers[name];
      return figures === undefined ? [] : [rowOf(scenario, name, figures)];
    }),
  );
  const rounds = Math.min(...scenarios.map((one) => one.rounds));
  return [
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, ` +
      `Node ${machine.node}; ${machine.date.slice(0, 16).replace('T', ' ')} UTC, commit ${machine.commit}`,
    `embedded stores; ${result.load}, ${result.connections} connections, ` +
      `${rounds} alternating rounds of ${result.measureSeconds} s`,
    `settings changed: ${Object.entries(result.settings)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
    '',
    align([headings, ...servers], 2),
    '',
    'rollcall ÷ bare, median of rounds (lowest–highest); targets are for Redis as the hot store',
    align([['', 'server CPU', 'event loop', 'target', 'requests/s'], ...scenarios.map(ratioRow)], 1),
    '',
    ...notesOf(result),
  ]
    .join('\n')
    .trimEnd();
};

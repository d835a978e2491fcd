/**
 * The content of a report, as tables and sentences without layout: `text.ts` prints them for a terminal or a
 * ticket, `html.ts` for a browser. Pure.
 */
import { percentiles } from '../load/order.ts';
import { targetsOf } from '../scenarios/targets.ts';
import { serverNames } from '../servers/contestants.ts';
import type { RatioFigures, Result, ScenarioFigures, ServerFigures } from './result.ts';
import type { Spread } from './statistics.ts';

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The number of text columns, from the left; the rest are numbers. */
  readonly words: number;
}

export const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');
export const range = ({ median, min, max }: Spread, digits: number): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
const at = ({ latencyMs }: ServerFigures, percentile: number): string =>
  (latencyMs[(percentiles as readonly number[]).indexOf(percentile)] ?? 0).toFixed(1);

const head = [
  'scenario',
  'server',
  'requests/s',
  'p50 ms',
  'p90',
  'p99',
  'p99.9',
  'CPU µs/request',
  'Redis µs',
  'Postgres µs',
  'bytes',
  'failed',
  'held back by',
];
const holders = { server: 'server', generator: 'generator *', neither: '–' } as const;

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
  holders[figures.bottleneck],
];

/** The CPU of a server that already runs is unknown. */
const knowsCpu = ({ samples }: Result): boolean => samples.some(({ cpuUs }) => cpuUs > 0);

export const serverTable = (result: Result): Table => {
  const rows = result.scenarios.flatMap(({ scenario, servers }) =>
    serverNames.flatMap((name) => {
      const figures = servers[name];
      return figures === undefined ? [] : [rowOf(scenario, name, figures)];
    }),
  );
  if (knowsCpu(result)) return { head, words: 2, rows };
  const isShown = (_: string, column: number): boolean => !/µs/.test(head[column] ?? '');
  return { head: head.filter(isShown), words: 2, rows: rows.map((row) => row.filter(isShown)) };
};

const judged = (value: number, target: string | undefined): string => {
  const limit = Number(target?.slice(2));
  if (target === undefined) return '';
  return `${target} ${(target.startsWith('≤') ? value <= limit : value >= limit) ? '✓' : '✗'}`;
};

const ratioRows = ({ scenario, ratios }: ScenarioFigures): string[][] =>
  ratios.map(({ to, cpu, rate, rateIsLeast }: RatioFigures) => {
    const target = targetsOf(scenario, to);
    return [
      scenario,
      to,
      cpu === null ? '–' : range(cpu, 2),
      cpu === null ? '' : judged(cpu.median, target.cpu),
      rate === null ? '–' : `${rateIsLeast ? '≥ ' : ''}${range(rate, 2)}`,
      rate === null ? '' : judged(rate.median, target.rate),
    ];
  });

export const ratioTable = ({ scenarios }: Result): Table => ({
  head: ['scenario', 'other', 'server CPU', 'target', 'requests/s', 'target'],
  words: 2,
  rows: scenarios.flatMap(ratioRows),
});

const storesOf = ({ stores }: Result): string =>
  ({ redis: 'Redis (appendfsync always) and Postgres', embedded: 'embedded stores' })[stores] ?? stores;

const changedOf = ({ settings }: Result): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ') || 'none';

/** Where, how and with what the result was measured. */
export const headOf = (result: Result): string[] => {
  const { machine, scenarios } = result;
  const rounds = scenarios.map((one) => one.rounds);
  const counts = [...new Set([Math.min(...rounds), Math.max(...rounds)])].join(' to ');
  const loop = result.rate > 0 ? `open loop at ${grouped(result.rate)} requests/s` : 'closed loop';
  return [
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, ` +
      `Node ${machine.node}; ${machine.date.slice(0, 16).replace('T', ' ')} UTC, commit ${machine.commit}`,
    `${storesOf(result)}; ` +
      `${result.load}, ${result.connections} connections, ${loop}; ` +
      `${counts} alternating rounds of ${result.measureSeconds} s; ` +
      `settings changed: ${changedOf(result)}`,
    ...(knowsCpu(result) ? [cpuWords(result)] : []),
  ];
};

const cpuWords = ({ placements }: Result): string =>
  placements.includes('one-core')
    ? 'CPU per request: server and generator on one core, so that all work under the same pressure. ' +
      'Requests/s and latency: placed by the system where that was measured (see bench/README.md).'
    : 'CPU per request and requests/s: processes placed by the system.';

const raceNotes = ({ races }: Result): string[] =>
  races === null
    ? []
    : Object.entries(races.through).map(
        ([server, count]) =>
          `Of ${grouped(races.atOnce)} simultaneous votes of one user for one bot, ${server} let ` +
          `${count} through${count === 1 ? '' : '; one would be right'}.`,
      );

const lagNotes = ({ moments }: Result): string[] => {
  if (moments.length < 10) return [];
  const lags = moments.map(({ flushLagSeconds }) => flushLagSeconds).sort((a, b) => a - b);
  const p99 = lags[Math.ceil(lags.length * 0.99) - 1] ?? 0;
  return [`Flush lag: p99 ${p99.toFixed(2)} s over ${lags.length} looks, one a second (target ≤ 2 s).`];
};

/** Notes for readers of the figures. */
export const notesOf = (result: Result): string[] => {
  const servers = result.scenarios.flatMap((one) => Object.values(one.servers));
  const { cores, loadBefore } = result.machine;
  const missing = result.scenarios.flatMap(({ scenario, ratios }) =>
    ratios.flatMap(({ to, words }) => words.map((word) => `${scenario} ÷ ${to}: ${word}.`)),
  );
  return [
    ...raceNotes(result),
    ...result.idle.map(
      ({ server, connections, bytesPerConnection }) =>
        `${server} with ${grouped(connections)} idle connections: ${grouped(bytesPerConnection)} bytes each.`,
    ),
    ...lagNotes(result),
    ...(servers.some(({ bottleneck }) => bottleneck === 'generator')
      ? ['* The load generator had no time left: these requests/s are its own.']
      : []),
    ...missing,
    ...(loadBefore > cores / 2
      ? [
          `The machine was busy before the run began (load ${loadBefore} on ${cores} cores): ` +
            'requests/s and latency are those of what was left, and spreads are wide.',
        ]
      : []),
    ...(result.interrupted ? ['Interrupted: medians are over fewer rounds.'] : []),
  ];
};

/**
 * The content of a report, as tables and sentences without layout: `text.ts` prints them for a terminal or a
 * ticket, `html.ts` for a browser. Pure.
 */
import { percentiles } from '../load/order.ts';
import type { Machine } from '../machine/machine.ts';
import { findTargets } from '../scenarios/targets.ts';
import { serverNames } from '../servers/contestants.ts';
import type { RatioFigures, Result, ScenarioFigures, ServerFigures } from './result.ts';
import type { Spread } from './statistics.ts';
import { formatGrouped, formatRange, type Table } from './table.ts';

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

const toServerRow = (scenario: string, server: string, figures: ServerFigures): string[] => [
  scenario,
  server,
  formatGrouped(figures.requestsPerSecond.median),
  at(figures, 50),
  at(figures, 90),
  at(figures, 99),
  at(figures, 99.9),
  formatRange(figures.cpuUs, 1),
  figures.redisCpuUs.median.toFixed(1),
  figures.postgresCpuUs.median.toFixed(1),
  formatGrouped(figures.bytesPerRequest),
  String(figures.failed),
  holders[figures.bottleneck],
];

/** The CPU of a server that already runs is unknown. */
const knowsCpu = ({ samples }: Result): boolean => samples.some(({ cpuUs }) => cpuUs > 0);

export const buildServerTable = (result: Result): Table => {
  const rows = result.scenarios.flatMap(({ scenario, servers }) =>
    serverNames.flatMap((name) => {
      const figures = servers[name];
      return figures === undefined ? [] : [toServerRow(scenario, name, figures)];
    }),
  );
  if (knowsCpu(result)) return { head, textColumns: 2, rows };
  const isShown = (_: string, column: number): boolean => !/µs/.test(head[column] ?? '');
  return { head: head.filter(isShown), textColumns: 2, rows: rows.map((row) => row.filter(isShown)) };
};

const judgeTarget = (value: number, target: string | undefined): string => {
  const limit = Number(target?.slice(2));
  if (target === undefined) return '';
  return `${target} ${(target.startsWith('≤') ? value <= limit : value >= limit) ? '✓' : '✗'}`;
};

const toCells = (ratio: Spread | null, target: string | undefined): [string, string] =>
  ratio === null ? ['–', ''] : [formatRange(ratio, 2), judgeTarget(ratio.median, target)];

const ratioRows = ({ scenario, ratios }: ScenarioFigures): string[][] =>
  ratios.map(({ ours, to, cpu, total, rate, rateIsLeast }: RatioFigures) => {
    const target = findTargets(scenario, ours, to);
    return [
      scenario,
      ours,
      to,
      ...toCells(cpu, target.cpu),
      ...toCells(total, target.total),
      rate === null ? '–' : `${rateIsLeast ? '≥ ' : ''}${formatRange(rate, 2)}`,
      rate === null ? '' : judgeTarget(rate.median, target.rate),
    ];
  });

export const buildRatioTable = ({ scenarios }: Result): Table => ({
  head: ['scenario', 'ours', 'other', 'server CPU', 'target', 'with Redis', 'target', 'requests/s', 'target'],
  textColumns: 3,
  rows: scenarios.flatMap(ratioRows),
});

const describeStores = ({ stores }: Result): string =>
  ({ redis: 'Redis (appendfsync always) and Postgres', embedded: 'embedded stores' })[stores] ?? stores;

const describeSettings = ({ settings }: Result): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ') || 'none';

/** Where, how and with what the result was measured. */
export const describeRun = (result: Result): string[] => {
  const { machine, scenarios } = result;
  const rounds = scenarios.map((one) => one.rounds);
  const counts = [...new Set([Math.min(...rounds), Math.max(...rounds)])].join(' to ');
  const loop = result.rate > 0 ? `open loop at ${formatGrouped(result.rate)} requests/s` : 'closed loop';
  return [
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, ` +
      `Node ${machine.node}; ${machine.date.slice(0, 16).replace('T', ' ')} UTC, commit ${machine.commit}`,
    `${describeStores(result)}; ` +
      `${result.load}, ${result.connections} connections, ${loop}; ` +
      `${counts} alternating rounds of ${result.measureSeconds} s; ` +
      `settings changed: ${describeSettings(result)}`,
    ...(knowsCpu(result) ? [describeCpuMethod(result)] : []),
  ];
};

const describeCpuMethod = ({ placements }: Result): string =>
  placements.includes('one-core')
    ? 'CPU per request: server and generator on one core, so that all servers are under the same load. ' +
      'Requests/s and latency: placed by the system where that was measured (see bench/README.md).'
    : 'CPU per request and requests/s: processes placed by the system.';

const raceNotes = ({ races }: Result): string[] =>
  races === null
    ? []
    : Object.entries(races.through).map(
        ([server, count]) =>
          `Of ${formatGrouped(races.atOnce)} simultaneous votes of a user for one bot, ${server} accepted ` +
          `${count}${count === 1 ? '' : '; one would be correct'}.`,
      );

const lagNotes = ({ moments }: Result): string[] => {
  if (moments.length < 10) return [];
  const lags = moments.map(({ flushLagSeconds }) => flushLagSeconds).sort((a, b) => a - b);
  const p99 = lags[Math.ceil(lags.length * 0.99) - 1] ?? 0;
  return [`Flush lag: p99 ${p99.toFixed(2)} s over ${lags.length} samples, one a second (target ≤ 2 s).`];
};

/** `409: 1,200, no answer: 3`. */
export const formatFailures = (failures: Readonly<Record<string, number>>): string =>
  Object.entries(failures)
    .map(([status, count]) => `${status}: ${formatGrouped(count)}`)
    .join(', ');

const failureNotes = ({ scenarios }: Result): string[] =>
  scenarios.flatMap(({ scenario, servers }) =>
    Object.entries(servers)
      .filter(([, { failed }]) => failed > 0)
      .map(([server, { failures }]) => `Failed, ${scenario}, ${server}: ${formatFailures(failures)}.`),
  );

export const describeBusyMachine = ({ cores, loadBefore }: Machine): string[] =>
  loadBefore > cores / 2
    ? [
        `The machine was busy before the run began (load ${loadBefore} on ${cores} cores): ` +
          'requests/s and latency are lower than on an idle machine, and spreads are wide.',
      ]
    : [];

/** Notes for readers of the figures. */
export const buildNotes = (result: Result): string[] => {
  const servers = result.scenarios.flatMap((one) => Object.values(one.servers));
  const missing = result.scenarios.flatMap(({ scenario, ratios }) =>
    ratios.flatMap(({ ours, to, reasons }) =>
      reasons.map((reason) => `${scenario}, ${ours} ÷ ${to}: ${reason}.`),
    ),
  );
  return [
    ...raceNotes(result),
    ...result.idle.map(
      ({ server, connections, bytesPerConnection }) =>
        `${server} with ${formatGrouped(connections)} idle connections: ` +
        `${formatGrouped(bytesPerConnection)} bytes each.`,
    ),
    ...lagNotes(result),
    ...(servers.some(({ bottleneck }) => bottleneck === 'generator')
      ? ['* The load generator had no time left: these requests/s are its own.']
      : []),
    ...missing,
    ...failureNotes(result),
    ...result.problems.map((problem) => `Not measured: ${problem}`),
    ...describeBusyMachine(result.machine),
    ...(result.interrupted ? ['Interrupted: medians are over fewer rounds.'] : []),
  ];
};

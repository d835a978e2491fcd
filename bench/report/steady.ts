/**
 * Reports what a request costs at a steady rate far below what a server could take: the rows, their table,
 * and the ratios by name. Pure.
 */
import { findSteadyTarget } from '../scenarios/targets.ts';
import { serverNames } from '../servers/contestants.ts';
import type { Steady, SteadyRow } from './result.ts';
import { computeSpread } from './statistics.ts';
import type { Table } from './table.ts';

type Value = (row: SteadyRow) => number;
const totalOf: Value = ({ serverUs, redisUs, postgresUs }) => serverUs + redisUs + postgresUs;
const withRedisOf: Value = ({ serverUs, redisUs }) => serverUs + redisUs;
const p50Of: Value = ({ p50Ms }) => p50Ms;

/** Rows of one scenario, rate and server, over rounds. */
const group = (rows: readonly SteadyRow[]): SteadyRow[][] => {
  const groups = new Map<string, SteadyRow[]>();
  for (const row of rows) {
    const key = `${row.scenario} ${row.rate} ${row.server}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const orderOf = ([row]: SteadyRow[]): number => (row === undefined ? 0 : serverNames.indexOf(row.server));
  return [...groups.values()].sort((a, b) => orderOf(a) - orderOf(b));
};

const medianOf = (rows: readonly SteadyRow[], value: Value): number => computeSpread(rows.map(value)).median;

/** Our rows next to those of another server, within rounds. */
const ratioTo = (ours: readonly SteadyRow[], others: readonly SteadyRow[], value: Value): number | null => {
  const ratios = ours.flatMap((row) => {
    const other = others.find(({ round }) => round === row.round);
    const divisor = other === undefined || other.failed + row.failed > 0 ? 0 : value(other);
    return divisor > 0 ? [value(row) / divisor] : [];
  });
  return ratios.length === 0 ? null : computeSpread(ratios).median;
};

const figures = { total_cpu: totalOf, cpu_with_redis: withRedisOf, p50: p50Of } as const;

/**
 * `<scenario>_<figure>_at_<rate>_vs_<other>`: `total_cpu` is that of the server, Redis and Postgres,
 * `cpu_with_redis` that of the first two; `embedded_<scenario>_…` on the embedded stores.
 */
export const collectSteadyRatios = ({ rows }: Steady): Record<string, number> => {
  const groups = group(rows);
  const ratios = groups.flatMap((ours) => {
    const { server, scenario, rate } = ours[0] as SteadyRow;
    if (server !== 'rollcall' && server !== 'rollcall-embedded') return [];
    const name = server === 'rollcall' ? scenario : `embedded_${scenario}`;
    const others = groups.filter(
      ([row]) => row?.scenario === scenario && row.rate === rate && row.server !== server,
    );
    return others.flatMap((other) =>
      Object.entries(figures).map(([figure, value]) => {
        const to = other[0]?.server === 'bare' ? 'bare_uws' : other[0]?.server.replaceAll('-', '_');
        return [`${name}_${figure}_at_${rate}_vs_${to}`, ratioTo(ours, other, value)] as const;
      }),
    );
  });
  return Object.fromEntries(
    ratios.flatMap(([name, ratio]) => (ratio === null ? [] : [[name, Math.round(ratio * 1_000) / 1_000]])),
  );
};

const formatTarget = (row: SteadyRow, ratio: number | null): string => {
  const limit = row.server === 'rollcall' ? findSteadyTarget(row.rate) : null;
  if (limit === null || ratio === null) return '';
  return `≤ ${limit} ${ratio <= limit ? '✓' : '✗'}`;
};

/** Medians over rounds. */
export const buildSteadyTable = ({ rows }: Steady): Table => {
  const groups = group(rows);
  const sorted = groups.toSorted(([a], [b]) => (a?.rate ?? 0) - (b?.rate ?? 0));
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))];
  const toRow = (own: SteadyRow[]): string[] => {
    const row = own[0] as SteadyRow;
    const peer = groups.find(
      ([one]) => one?.scenario === row.scenario && one.rate === row.rate && one.server === 'fastify-sql',
    );
    const ratio = peer === undefined || peer[0]?.server === row.server ? null : ratioTo(own, peer, totalOf);
    const show = (value: Value, digits: number): string => medianOf(own, value).toFixed(digits);
    return [
      row.scenario,
      row.server,
      String(row.rate),
      show(p50Of, 2),
      show(({ p99Ms }) => p99Ms, 1),
      show(totalOf, 0),
      show(({ serverUs }) => serverUs, 0),
      show(({ redisUs }) => redisUs, 0),
      show(({ postgresUs }) => postgresUs, 0),
      show(({ statements }) => statements, 2),
      show(({ redisCommands }) => redisCommands, 1),
      show(({ wakeUps }) => wakeUps, 1),
      show(({ diskBytes }) => diskBytes / 1_024, 1),
      String(own.reduce((sum, { failed }) => sum + failed, 0)),
      ratio === null ? '–' : ratio.toFixed(2),
      formatTarget(row, ratio),
    ];
  };
  return {
    head: steadyHead,
    textColumns: 2,
    rows: scenarios.flatMap((scenario) => sorted.filter(([row]) => row?.scenario === scenario).map(toRow)),
  };
};

const steadyHead = [
  'scenario',
  'server',
  'requests/s',
  'p50 ms',
  'p99',
  'CPU µs/request',
  'server µs',
  'Redis µs',
  'Postgres µs',
  'SQL statements',
  'Redis commands',
  'wake-ups',
  'disk KiB',
  'failed',
  '÷ fastify-sql',
  'target',
];

/** What stands above the table. */
export const describeSteady = ({ syncMs, rows }: Steady): string =>
  `At a steady rate, ${Math.max(...rows.map(({ requests, rate }) => Math.round(requests / rate)))} s each, ` +
  `evenly over all bots; a sync of this disk takes ${syncMs.toFixed(2)} ms`;

/**
 * Reports what a request costs at a steady rate far below what a server could take: the table, and the
 * ratios by name. Pure.
 */
import { findSteadyTarget } from '../scenarios/targets.ts';
import {
  compareRounds,
  countFailed,
  groupRows,
  latencyOf,
  medianOf,
  nameServer,
  type Row,
  roundRatio,
  serverOf,
  totalOf,
  type Value,
  withRedisOf,
} from './rows.ts';
import { type Column, type Table, tabulate } from './table.ts';

type Group = readonly [Row, ...Row[]];

const figures = { total_cpu: totalOf, cpu_with_redis: withRedisOf, p50: latencyOf(50) } as const;

const listOthers = ([row]: Group, groups: readonly Group[]): readonly Group[] =>
  groups.filter(
    ([{ scenario, load, server }]) => scenario === row.scenario && load === row.load && server !== row.server,
  );

/**
 * `<scenario>_<figure>_at_<rate>_vs_<other>`: `total_cpu` is that of the server, Redis and Postgres,
 * `cpu_with_redis` that of the first two; `embedded_<scenario>_…` on the embedded stores.
 */
export const collectSteadyRatios = (rows: readonly Row[]): Record<string, number> => {
  const groups = groupRows(rows);
  const ratios = groups.flatMap((ours) => {
    const { server, scenario, load } = ours[0];
    if (server !== 'rollcall' && server !== 'rollcall-embedded') return [];
    const name = server === 'rollcall' ? scenario : `embedded_${scenario}`;
    return listOthers(ours, groups).flatMap((others) =>
      Object.entries(figures).flatMap(([figure, value]) => {
        const ratio = compareRounds(ours, others, { value });
        const to = `${figure}_at_${load.replace('/s', '')}_vs_${nameServer(others[0].server)}`;
        return ratio === null ? [] : [[`${name}_${to}`, roundRatio(ratio.median)] as const];
      }),
    );
  });
  return Object.fromEntries(ratios);
};

/** Medians over rounds. */
export const buildSteadyTable = (rows: readonly Row[]): Table => {
  const groups = groupRows(rows);
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))];
  const rateOf = ([{ load }]: Group): number => Number.parseInt(load, 10);
  const sorted = scenarios.flatMap((name) =>
    groups.filter(([{ scenario }]) => scenario === name).toSorted((a, b) => rateOf(a) - rateOf(b)),
  );
  const toRatio = (group: Group): number | undefined => {
    const peer = listOthers(group, groups).find(([{ server }]) => server === 'fastify-sql');
    return peer && compareRounds(group, peer, { value: totalOf })?.median;
  };
  const judge = (group: Group): string => {
    const ratio = toRatio(group);
    const limit = group[0].server === 'rollcall' ? findSteadyTarget(rateOf(group)) : null;
    return limit === null || ratio === undefined ? '' : `≤ ${limit} ${ratio <= limit ? '✓' : '✗'}`;
  };
  const column = (head: string, value: Value, digits: number): Column<Group> => [
    head,
    (group) => medianOf(group, value),
    digits,
  ];
  return tabulate<Group>(
    sorted,
    [
      ['scenario', ([row]) => row.scenario],
      ['server', ([row]) => row.server],
      ['requests/s', rateOf],
      column('p50 ms', latencyOf(50), 2),
      column('p99', latencyOf(99), 1),
      column('CPU µs/request', totalOf, 0),
      column('server µs', serverOf, 0),
      column('Redis µs', ({ redisUs }) => redisUs, 0),
      column('Postgres µs', ({ postgresUs }) => postgresUs, 0),
      column('SQL statements', ({ statements = 0 }) => statements, 2),
      column('Redis commands', ({ redisCommands = 0 }) => redisCommands, 1),
      column('wake-ups', ({ wakeUps }) => wakeUps, 1),
      column('disk KiB', ({ diskBytes }) => diskBytes / 1_024, 1),
      ['failed', countFailed],
      ['÷ fastify-sql', toRatio, 2],
      ['target', judge],
    ],
    2,
  );
};

/** What stands above the table. */
export const describeSteady = (rows: readonly Row[], syncMs: number): string => {
  const seconds = rows.map(({ requests, load }) => Math.round(requests / Number.parseInt(load, 10)));
  return (
    `At a steady rate, ${Math.max(...seconds)} s each, evenly over all bots; ` +
    `a sync of this disk takes ${syncMs.toFixed(2)} ms`
  );
};

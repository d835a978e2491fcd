/**
 * The growth report: a table and charts over the number of entities. Pure.
 */
import type { Machine } from '../machine/machine.ts';
import { axis, below, drawChart } from '../report/charts.ts';
import { renderPage, renderTable } from '../report/html.ts';
import type { Spread } from '../report/statistics.ts';
import { formatGrouped, formatRange, type Table } from '../report/tables.ts';
import type { Point } from './point.ts';

const formatRatio = (ratio: Spread | undefined): string =>
  ratio === undefined ? '–' : formatRange(ratio, 2);

export const buildGrowthTable = (points: readonly Point[]): Table => ({
  head: [
    'entities',
    'start s',
    'posts/s',
    'p99 ms',
    '÷ smallest',
    'reads/s',
    'p99 ms',
    '÷ smallest',
    'activation CPU µs',
    'flush rows/s',
    '÷ COPY',
    'Postgres away s',
    'backlog',
    'lag s',
    'catch-up s',
  ],
  textColumns: 0,
  rows: points.map((point) => [
    formatGrouped(point.entities),
    point.startSeconds.toFixed(2),
    formatGrouped(point.postsPerSecond),
    point.postP99Ms.toFixed(1),
    formatRatio(point.ratios?.posts),
    formatGrouped(point.readsPerSecond),
    point.readP99Ms.toFixed(1),
    formatRatio(point.ratios?.reads),
    formatGrouped(point.activationCpuUs),
    formatGrouped(point.flush.rowsPerSecond),
    point.flush.ratio.toFixed(2),
    String(point.outageSeconds),
    formatGrouped(point.backlogEntities),
    point.lagSeconds.toFixed(0),
    point.catchUpSeconds.toFixed(1),
  ]),
});

interface Line {
  readonly name: string;
  readonly value: (point: Point) => number;
}
const blue = '#1769e0';
const orange = '#d9480f';

const overSize = (
  points: readonly Point[],
  { title, unit, lines }: { title: string; unit: string; lines: readonly Line[] },
): string =>
  drawChart({
    title,
    option: {
      color: [blue, orange],
      xAxis: {
        ...axis('entities in the directory', below),
        type: 'category',
        data: points.map((point) => formatGrouped(point.entities)),
      },
      yAxis: axis(unit, { nameGap: 46, min: 0 }),
      grid: { left: 66, right: 24, top: 64, bottom: 44 },
      series: lines.map(({ name, value }) => ({
        name,
        type: 'line',
        symbolSize: 7,
        data: points.map((point) => Number(value(point).toFixed(3))),
      })),
    },
  });

const charts = (points: readonly Point[]): string[] => [
  overSize(points, {
    title: 'Throughput',
    unit: 'requests/s',
    lines: [
      { name: 'stats posts', value: ({ postsPerSecond }) => postsPerSecond },
      { name: 'reads', value: ({ readsPerSecond }) => readsPerSecond },
    ],
  }),
  overSize(points, {
    title: 'Throughput ÷ that of the smallest, both by turns (median of rounds)',
    unit: 'ratio',
    lines: [
      { name: 'stats posts', value: ({ ratios }) => ratios?.posts.median ?? 1 },
      { name: 'reads', value: ({ ratios }) => ratios?.reads.median ?? 1 },
    ],
  }),
  overSize(points, {
    title: 'Latency, 99th percentile',
    unit: 'ms',
    lines: [
      { name: 'stats posts', value: ({ postP99Ms }) => postP99Ms },
      { name: 'reads', value: ({ readP99Ms }) => readP99Ms },
    ],
  }),
  overSize(points, {
    title: 'Start to first acknowledged post',
    unit: 's',
    lines: [{ name: 'start', value: ({ startSeconds }) => startSeconds }],
  }),
  overSize(points, {
    title: 'Flush, and a hand-written COPY and merge of the same rows',
    unit: 'rows/s',
    lines: [
      { name: 'flush', value: ({ flush }) => flush.rowsPerSecond },
      { name: 'COPY and merge', value: ({ flush }) => flush.copyRowsPerSecond },
    ],
  }),
  overSize(points, {
    title: 'Activation: CPU of a first read, less a second',
    unit: 'µs',
    lines: [{ name: 'activation', value: ({ activationCpuUs }) => activationCpuUs }],
  }),
  overSize(points, {
    title: 'Catch-up after Postgres was away',
    unit: 's',
    lines: [{ name: 'catch-up', value: ({ catchUpSeconds }) => catchUpSeconds }],
  }),
];

export const renderGrowthHtml = (growth: {
  readonly machine: Machine;
  readonly bytesPerActor: number;
  readonly points: readonly Point[];
}): string => {
  const { machine, bytesPerActor, points } = growth;
  const head =
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB; ` +
    `${machine.date.slice(0, 16).replace('T', ' ')} UTC, commit ${machine.commit}; ` +
    `a live actor takes ${formatGrouped(bytesPerActor)} bytes`;
  return renderPage(
    'Rollcall: growth',
    `<h1>Rollcall: growth</h1><p class="faint">${head}</p>${renderTable(buildGrowthTable(points))}` +
      `<h2>Charts</h2><div class="charts">${charts(points).join('')}</div>`,
  );
};

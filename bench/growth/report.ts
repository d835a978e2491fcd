/**
 * The growth report: a table over the number of entities. Pure.
 */
import type { Machine } from '../machine/machine.ts';
import type { Spread } from '../report/statistics.ts';
import { formatGrouped, formatRange, type Table } from '../report/tables.ts';
import { renderMarkdownTable } from '../report/text.ts';
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

/** The report as Markdown. */
export const renderGrowth = (growth: {
  readonly machine: Machine;
  readonly bytesPerActor: number;
  readonly points: readonly Point[];
}): string => {
  const { machine, bytesPerActor, points } = growth;
  const head =
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB; ` +
    `${machine.date.slice(0, 16).replace('T', ' ')} UTC, commit ${machine.commit}; ` +
    `a live actor takes ${formatGrouped(bytesPerActor)} bytes`;
  return `# Rollcall: growth\n\n${head}\n\n${renderMarkdownTable(buildGrowthTable(points))}\n`;
};

/**
 * What a live frame says, in words: groups of figures, and the tables of nodes and routes. Pure.
 */
import type { LiveFrame, LiveRoute, NodeStatus } from '../../telemetry/node-status.ts';
import { formatCount, formatDuration, formatNumber } from './format.ts';

/** `isWrong`: it should be 0 and is not. */
const show = (label: string, text: string, isWrong = false) => ({ label, text, isWrong });
type Figure = ReturnType<typeof show>;

const count = (label: string, value: number): Figure => show(label, formatCount(value));
const rate = (value: number): Figure => show('rate', `${formatNumber(value)}/s`);
const time = (label: string, ms: number | null): Figure => show(label, `${formatNumber(ms)} ms`);

/** A number that should be 0. */
const zero = (label: string, value: number, unit = ''): Figure =>
  show(label, formatNumber(value) + unit, value > 0);

const group = (title: string, ...figures: readonly Figure[]) => ({ title, figures });
export type FigureGroup = ReturnType<typeof group>;

/** The figures of the node itself. */
export const describeFrame = (frame: LiveFrame): readonly FigureGroup[] => [
  group(
    'Requests',
    rate(frame.requests_per_s),
    time('p50', frame.p50_ms),
    time('p99', frame.p99_ms),
    zero('failed', frame.failures_per_s, '/s'),
  ),
  group(
    'Commits',
    rate(frame.commits_per_s),
    show('items each', formatNumber(frame.items_per_commit)),
    time('took', frame.hot_store_ms),
    count('pending', frame.pending_items),
    zero('failed', frame.commit_failures),
  ),
  group(
    'Flushes',
    rate(frame.flushes_per_s),
    time('took', frame.sql_ms),
    count('backlog', frame.backlog_entities),
    count('outbox', frame.outbox_votes),
    show('lag', `${formatNumber(frame.flush_lag_s)} s`),
    zero('failed', frame.flush_failures),
  ),
  group(
    'Webhooks',
    count('pending', frame.webhooks.pending),
    zero('failing', frame.webhooks.failing),
    zero('disabled', frame.webhooks.disabled),
  ),
  group('Troubles', zero('dead letters', frame.dead_letters), zero('failed jobs', frame.job_failures)),
  group(
    'Process',
    show('memory', `${formatCount(frame.memory_mb)} MB`),
    show('CPU', `${frame.cpu_percent} %`),
    count('actors', frame.actors),
    count('feed connections', frame.feed_connections),
  ),
];

type Columns<Row> = readonly (readonly [title: string, format: (row: Row) => string])[];

/** The first column is text, the others are numbers. */
const buildTable = <Row>(caption: string, rows: readonly Row[], columns: Columns<Row>) => ({
  caption,
  titles: columns.map(([title]) => title),
  rows: rows.map((row) => columns.map(([, format]) => format(row))),
});
export type FigureTable = ReturnType<typeof buildTable>;

/** All nodes: this one as of now, the others as of their last heartbeats. */
export const describeNodes = (nodes: readonly NodeStatus[]): FigureTable =>
  buildTable('Nodes', nodes, [
    ['Node', ({ node }) => node],
    ['Up', ({ figures }) => formatDuration(figures.uptime_s)],
    ['Requests/s', ({ figures }) => formatNumber(figures.requests_per_s)],
    ['Commit ms', ({ figures }) => formatNumber(figures.hot_store_ms)],
    ['Flush ms', ({ figures }) => formatNumber(figures.sql_ms)],
    ['Backlog', ({ figures }) => formatCount(figures.backlog_entities)],
    ['Outbox', ({ figures }) => formatCount(figures.outbox_votes)],
    ['Flush lag s', ({ figures }) => formatNumber(figures.flush_lag_s)],
    ['Version', ({ version }) => version],
  ]);

export const describeRoutes = (routes: readonly LiveRoute[]): FigureTable =>
  buildTable('Busiest routes of this node, last ten seconds', routes, [
    ['Route', ({ route }) => route],
    ['Requests/s', (row) => formatNumber(row.requests_per_s)],
    ['p50 ms', (row) => formatNumber(row.p50_ms)],
    ['p99 ms', (row) => formatNumber(row.p99_ms)],
    ['Failed/s', (row) => formatNumber(row.failures_per_s)],
  ]);

/**
 * What a live frame says, in words: groups of figures, and the tables of nodes and routes. Pure.
 */
import type { LiveFrame, LiveRoute, NodeStatus } from '../../telemetry/node-status.ts';
import { formatCount, formatDuration, formatNumber } from './format.ts';

export interface Figure {
  readonly label: string;
  readonly text: string;
  /** It should be 0 and is not. */
  readonly isWrong: boolean;
}

export interface FigureGroup {
  readonly title: string;
  readonly figures: readonly Figure[];
}

const show = (label: string, text: string): Figure => ({ label, text, isWrong: false });
const count = (label: string, value: number): Figure => show(label, formatCount(value));
const rate = (value: number): Figure => show('rate', `${formatNumber(value)}/s`);
const time = (label: string, ms: number | null): Figure => show(label, `${formatNumber(ms)} ms`);

/** A number that should be 0. */
const zero = (label: string, value: number, unit = ''): Figure => ({
  label,
  text: formatNumber(value) + unit,
  isWrong: value > 0,
});

/** The figures of the node itself. */
export const describeFrame = (frame: LiveFrame): readonly FigureGroup[] => [
  {
    title: 'Requests',
    figures: [
      rate(frame.requests_per_s),
      time('p50', frame.p50_ms),
      time('p99', frame.p99_ms),
      zero('failed', frame.failures_per_s, '/s'),
    ],
  },
  {
    title: 'Commits',
    figures: [
      rate(frame.commits_per_s),
      show('items each', formatNumber(frame.items_per_commit)),
      time('took', frame.hot_store_ms),
      count('pending', frame.pending_items),
      zero('failed', frame.commit_failures),
    ],
  },
  {
    title: 'Flushes',
    figures: [
      rate(frame.flushes_per_s),
      time('took', frame.sql_ms),
      count('backlog', frame.backlog_entities),
      count('outbox', frame.outbox_votes),
      show('lag', `${formatNumber(frame.flush_lag_s)} s`),
      zero('failed', frame.flush_failures),
    ],
  },
  {
    title: 'Webhooks',
    figures: [
      count('pending', frame.webhooks.pending),
      zero('failing', frame.webhooks.failing),
      zero('disabled', frame.webhooks.disabled),
    ],
  },
  {
    title: 'Troubles',
    figures: [zero('dead letters', frame.dead_letters), zero('failed jobs', frame.job_failures)],
  },
  {
    title: 'Process',
    figures: [
      show('memory', `${formatCount(frame.memory_mb)} MB`),
      show('CPU', `${frame.cpu_percent} %`),
      count('actors', frame.actors),
      count('feed connections', frame.feed_connections),
    ],
  },
];

export interface FigureTable {
  readonly caption: string;
  /** The first column is text, the others are numbers. */
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** All nodes: this one as of now, the others as of their last heartbeats. */
export const describeNodes = (nodes: readonly NodeStatus[]): FigureTable => ({
  caption: 'Nodes',
  titles: [
    'Node',
    'Up',
    'Requests/s',
    'Commit ms',
    'Flush ms',
    'Backlog',
    'Outbox',
    'Flush lag s',
    'Version',
  ],
  rows: nodes.map(({ node, version, figures }) => [
    node,
    formatDuration(figures.uptime_s),
    formatNumber(figures.requests_per_s),
    formatNumber(figures.hot_store_ms),
    formatNumber(figures.sql_ms),
    formatCount(figures.backlog_entities),
    formatCount(figures.outbox_votes),
    formatNumber(figures.flush_lag_s),
    version,
  ]),
});

export const describeRoutes = (routes: readonly LiveRoute[]): FigureTable => ({
  caption: 'Busiest routes of this node, last ten seconds',
  titles: ['Route', 'Requests/s', 'p50 ms', 'p99 ms', 'Failed/s'],
  rows: routes.map((row) => [
    row.route,
    formatNumber(row.requests_per_s),
    formatNumber(row.p50_ms),
    formatNumber(row.p99_ms),
    formatNumber(row.failures_per_s),
  ]),
});

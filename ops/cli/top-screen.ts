/**
 * Formats one live frame as the lines of a terminal. Pure. Used by top.ts.
 *
 * Lines are cut to the width, and the lists to the height, so that a screen never scrolls. What is wrong is
 * red, and also says so in words.
 */
import type { LiveFrame, LiveRoute, NodeStatus } from '../../http/telemetry/node-status.ts';
import { formatCount } from './command.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
}

interface Piece {
  readonly text: string;
  readonly style: 'plain' | 'bold' | 'dim' | 'red' | 'green';
}

const codes = { plain: '', bold: '1', dim: '2', red: '31', green: '32' } as const;

const paint = (pieces: readonly Piece[], { columns, colour }: ScreenSize): string => {
  let room = columns;
  const painted = pieces.map(({ text, style }) => {
    const shown = text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…`.slice(0, room) : text;
    room -= shown.length;
    return colour && style !== 'plain' && shown !== '' ? `\u001b[${codes[style]}m${shown}\u001b[0m` : shown;
  });
  return painted.join('').trimEnd();
};

const piece = (text: string, style: Piece['style'] = 'plain'): Piece => ({ text, style });

/** `3 d 4 h`, `5 min 6 s`: the two largest units. */
export const formatDuration = (seconds: number): string => {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
};

const formatNumber = (value: number | null): string =>
  value === null ? '-' : value >= 100 ? formatCount(Math.round(value)) : String(value);

/** The first column to the left, the others to the right. */
const formatColumns = (lines: readonly (readonly string[])[]): readonly string[] => {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const pad = (text: string, at: number): string =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return lines.map((line) => line.map(pad).join('  '));
};

const nodeTitles = ['NODE', 'UP', 'REQ/S', 'HOT MS', 'SQL MS', 'BACKLOG', 'OUTBOX', 'LAG S', 'VERSION'];
const formatNode = ({ node, version, figures }: NodeStatus): readonly string[] => [
  node,
  formatDuration(figures.uptime_s),
  formatNumber(figures.requests_per_s),
  formatNumber(figures.hot_store_ms),
  formatNumber(figures.sql_ms),
  formatCount(figures.backlog_entities),
  formatCount(figures.outbox_votes),
  formatNumber(figures.flush_lag_s),
  version,
];

const routeTitles = ['ROUTE', 'REQ/S', 'P50 MS', 'P99 MS', '5XX/S'];
const formatRoute = ({ route, ...row }: LiveRoute): readonly string[] => [
  route,
  formatNumber(row.requests_per_s),
  formatNumber(row.p50_ms),
  formatNumber(row.p99_ms),
  formatNumber(row.failures_per_s),
];

const formatTable = (titles: readonly string[], rows: readonly (readonly string[])[]): readonly Piece[][] =>
  formatColumns([titles, ...rows]).map((text, at) => [piece(text, at === 0 ? 'dim' : 'plain')]);

/** Numbers that should be 0 are red when they are not. */
const zero = (label: string, count: number): Piece[] => [
  piece(`   ${label} `, 'dim'),
  piece(formatCount(count), count > 0 ? 'red' : 'plain'),
];
const level = (label: string, value: string): Piece[] => [piece(`   ${label} `, 'dim'), piece(value)];
const title = (text: string): Piece => piece(text.padEnd(9), 'bold');

const formatHead = (frame: LiveFrame): Piece[][] => {
  const time = new Date(frame.at_ms).toISOString().slice(11, 19);
  const state = frame.ready ? piece('ready', 'green') : piece('NOT READY', 'red');
  const up = `   ${frame.version}   up ${formatDuration(frame.uptime_s)}   ${time} UTC   `;
  return [
    [piece(frame.node, 'bold'), piece(up), state],
    ...frame.notes.map((note) => [piece(`! ${note}`, 'red')]),
  ];
};

const formatNow = (frame: LiveFrame): Piece[][] => {
  const { webhooks } = frame;
  const perSecond = (value: number): string => `${formatNumber(value)}/s`;
  return [
    [
      title('Requests'),
      ...level('', perSecond(frame.requests_per_s)),
      ...level('p50', `${formatNumber(frame.p50_ms)} ms`),
      ...level('p99', `${formatNumber(frame.p99_ms)} ms`),
      ...zero('failed/s', frame.failures_per_s),
    ],
    [
      title('Commits'),
      ...level('', perSecond(frame.commits_per_s)),
      ...level('each', `${formatNumber(frame.items_per_commit)} items`),
      ...level('took', `${formatNumber(frame.hot_store_ms)} ms`),
      ...level('waiting', formatCount(frame.pending_items)),
      ...zero('failed', frame.commit_failures),
    ],
    [
      title('Flushes'),
      ...level('', perSecond(frame.flushes_per_s)),
      ...level('took', `${formatNumber(frame.sql_ms)} ms`),
      ...level('backlog', formatCount(frame.backlog_entities)),
      ...level('outbox', formatCount(frame.outbox_votes)),
      ...level('lag', `${formatNumber(frame.flush_lag_s)} s`),
      ...zero('failed', frame.flush_failures),
    ],
    [
      title('Troubles'),
      ...zero('dead letters', frame.dead_letters),
      ...zero('failed jobs', frame.job_failures),
      ...zero('webhooks failing', webhooks.failing),
      ...zero('disabled', webhooks.disabled),
      ...level('pending', formatCount(webhooks.pending)),
    ],
    [
      title('Process'),
      ...level('memory', `${formatCount(frame.memory_mb)} MB`),
      ...level('cpu', `${frame.cpu_percent} %`),
      ...level('actors', formatCount(frame.actors)),
    ],
  ];
};

/** Returns the lines of the screen, at most `rows`. */
export const formatScreen = (frame: LiveFrame, size: ScreenSize): readonly string[] => {
  const nodes = frame.nodes.map(formatNode);
  const routes = frame.routes.map(formatRoute);
  const head = [...formatHead(frame), [], ...formatNow(frame), []];
  // Routes get what the nodes leave, but some lines in any case.
  const nodesMax = Math.max(1, size.rows - head.length - 6);
  const shown = formatTable(nodeTitles, nodes.slice(0, nodesMax));
  const hidden = nodes.length - nodesMax;
  const more = hidden > 0 ? [[piece(`… and ${hidden} more nodes`, 'dim')]] : [];
  const table = formatTable(routeTitles, routes);
  return [...head, ...shown, ...more, [], ...table]
    .slice(0, size.rows)
    .map((pieces) => paint(pieces as readonly Piece[], size));
};

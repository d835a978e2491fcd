/**
 * Formats one live frame as the lines of a terminal. Pure. Used by top.ts.
 *
 * Lines are cut to the width, and the lists to the height, so that a screen never scrolls. What is wrong is
 * red, and also says so in words.
 */
import {
  describeFrame,
  describeNodes,
  describeRoutes,
  type FigureGroup,
  type FigureTable,
} from '../../http/operator/page/figures.ts';
import { formatDuration } from '../../http/operator/page/format.ts';
import type { LiveFrame } from '../../http/telemetry/node-status.ts';

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

/** The first column to the left, the others to the right. */
const formatColumns = (lines: readonly (readonly string[])[]): readonly string[] => {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const pad = (text: string, at: number): string =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return lines.map((line) => line.map(pad).join('  '));
};

const formatTable = ({ titles, rows }: FigureTable): readonly Piece[][] =>
  formatColumns([titles, ...rows]).map((text, at) => [piece(text, at === 0 ? 'dim' : 'plain')]);

const formatGroup = ({ title, figures }: FigureGroup): Piece[] => [
  piece(title.padEnd(8), 'bold'),
  ...figures.flatMap(({ label, text, isWrong }) => [
    piece(`  ${label} `, 'dim'),
    piece(text, isWrong ? 'red' : 'plain'),
  ]),
];

const formatHead = (frame: LiveFrame): Piece[][] => {
  const time = new Date(frame.at_ms).toISOString().slice(11, 19);
  const state = frame.ready ? piece('ready', 'green') : piece('NOT READY', 'red');
  const up = `   ${frame.version}   up ${formatDuration(frame.uptime_s)}   ${time} UTC   `;
  return [
    [piece(frame.node, 'bold'), piece(up), state],
    ...frame.notes.map((note) => [piece(`! ${note}`, 'red')]),
  ];
};

/** Returns the lines of the screen, at most `rows`. */
export const formatScreen = (frame: LiveFrame, size: ScreenSize): readonly string[] => {
  const nodes = describeNodes(frame.nodes);
  const head = [...formatHead(frame), [], ...describeFrame(frame).map(formatGroup), []];
  // Routes get what the nodes leave, but some lines in any case.
  const nodesMax = Math.max(1, size.rows - head.length - 6);
  const shown = formatTable({ ...nodes, rows: nodes.rows.slice(0, nodesMax) });
  const hidden = nodes.rows.length - nodesMax;
  const more = hidden > 0 ? [[piece(`… and ${hidden} more nodes`, 'dim')]] : [];
  const table = formatTable(describeRoutes(frame.routes));
  return [...head, ...shown, ...more, [], ...table]
    .slice(0, size.rows)
    .map((pieces) => paint(pieces as readonly Piece[], size));
};

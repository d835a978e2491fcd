/**
 * Formats an answer for the terminal: a list as a table; an object as lines, with its lists as tables below;
 * a message as a sentence. Pure.
 *
 * A table fits the width of a terminal: columns of prose shrink, the widest first. A shortened text ends
 * with `…`; `--json` prints it whole. Names come from strangers, so control characters are shown as `\u001b`.
 */
import { formatCount, formatTotal } from '../../../http/operator/page/format.ts';
import { escapeUnsafe } from '../../log/log.ts';

type TableRow = Readonly<Record<string, unknown>>;
const lineCharactersMax = 110;
const columnCharactersMin = 8;
const gap = 2;

/** Times are shown to the second. */
const timestamp = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z$/;

const formatValue = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  const isTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  if (isTexts) return escapeUnsafe(value.join(', ')) || '-';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return escapeUnsafe(text.replace(/\s+/g, ' ')).replace(timestamp, '$1T$2Z');
};

const cut = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text;

interface TableColumn {
  readonly width: number;
  /** Only prose may be shortened: ids, codes, commands and times must stay whole. */
  readonly prose: boolean;
}

/** Values with a blank that are no prose: `bots approve`, `team 018f…`, `0.1.0 (42335a2c0a1b)`. */
const wholeNames: ReadonlySet<string> = new Set(['operation', 'owner', 'version']);

/** Shrinks columns of prose until a line fits, or until none of them can shrink further. */
const fitWidths = (columns: readonly TableColumn[]): readonly number[] => {
  const widths = columns.map(({ width }) => width);
  const room = lineCharactersMax - gap * (widths.length - 1);
  const used = (): number => widths.reduce((sum, width) => sum + width, 0);
  while (used() > room) {
    const widest = Math.max(0, ...widths.filter((_, index) => columns[index]?.prose));
    if (widest <= columnCharactersMin) break;
    widths[widths.findIndex((width, index) => width === widest && columns[index]?.prose)] = widest - 1;
  }
  return widths;
};

/** Columns without any value are left out. */
const listColumnNames = (rows: readonly TableRow[]): readonly string[] =>
  Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => formatValue(row[name]) !== '-'));

const formatTable = (rows: readonly TableRow[]): string => {
  if (rows.length === 0) return 'None.\n';
  const names = listColumnNames(rows);
  const lines = [
    names.map((name) => name.replaceAll('_', ' ')),
    ...rows.map((row) => names.map((name) => formatValue(row[name]))),
  ];
  const columns = names.map((name, column) => {
    const cells = lines.map((line) => line[column] ?? '');
    const prose = !wholeNames.has(name) && cells.slice(1).some((text) => /[\s{[]/.test(text));
    return { width: Math.max(...cells.map((text) => text.length)), prose };
  });
  const widths = fitWidths(columns);
  const formatLine = (line: readonly string[]): string =>
    line
      .map((text, column) => cut(text, widths[column] ?? 0).padEnd(widths[column] ?? 0))
      .join(' '.repeat(gap))
      .trimEnd();
  return lines.map((line) => `${formatLine(line)}\n`).join('');
};

const isRows = (value: unknown): value is readonly TableRow[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null);

/** An empty list is not a table: it is shown on one line. */
const isTable = (value: unknown): value is readonly TableRow[] => isRows(value) && value.length > 0;

const formatObject = (fields: TableRow): string => {
  const entries = Object.entries(fields);
  const plain = entries.filter(([, value]) => !isTable(value));
  const width = Math.max(...plain.map(([name]) => name.length));
  const lines = plain.map(
    ([name, value]) => `${name.replaceAll('_', ' ').padEnd(width)}  ${formatValue(value)}\n`,
  );
  const tables = entries.map(([name, value]) =>
    isTable(value) ? `\n${name.replaceAll('_', ' ')} (${value.length})\n${formatTable(value)}` : '',
  );
  return [...lines, ...tables].join('');
};

const isList = (answer: TableRow): boolean => 'total' in answer && 'next_page' in answer;

/** The line below a list: how many rows there are, and how to get the next page. */
const formatLength = (list: TableRow, shown: number): string => {
  const { total, total_is, next_page } = list;
  if (total_is === 'exact' && total === shown) return `\n${formatCount(shown)} in total.\n`;
  const next = next_page === null ? '' : ` Next page: --page ${next_page}`;
  return `\n${shown} of ${formatTotal(list)}.${next}\n`;
};

const formatRows = (list: readonly unknown[]): string =>
  isRows(list) ? formatTable(list) : list.map((item) => `${formatValue(item)}\n`).join('') || 'None.\n';

/** JSON for programs; control characters that JSON leaves as they are get escaped. Also of inspect.ts. */
export const formatJson = (answer: unknown): string =>
  `${JSON.stringify(answer, null, 2).split('\n').map(escapeUnsafe).join('\n')}\n`;

/** Returns the text for the operator. `answer` is the body of a successful reply. */
export const formatAnswer = (answer: TableRow): string => {
  if (typeof answer.message === 'string') return `${escapeUnsafe(answer.message)}\n`;
  const list: readonly unknown[] | undefined = Object.values(answer).find((value) => Array.isArray(value));
  if (list === undefined || Object.keys(answer).length > 1 + (isList(answer) ? 3 : 0)) {
    return formatObject(answer);
  }
  const length = isList(answer) ? formatLength(answer, list.length) : '';
  return formatRows(list) + (list.length === 0 && answer.total === 0 ? '' : length);
};

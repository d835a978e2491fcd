/**
 * A table of a report, and its three forms: aligned text, Markdown, and figures over rounds. Pure.
 */
import type { Spread } from './statistics.ts';

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The number of text columns, from the left; the rest are numbers. */
  readonly textColumns: number;
}

/** One column: its head, and the cell of a row; a number with so many digits. */
export type Column<Row> = readonly [
  head: string,
  cell: (row: Row) => string | number | null | undefined,
  digits?: number,
];

/** A table of these columns; `–` where there is no value. */
export const tabulate = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  textColumns = 1,
): Table => ({
  textColumns,
  head: columns.map(([head]) => head),
  rows: rows.map((row) =>
    columns.map(([, cell, digits = 0]) => {
      const value = cell(row) ?? '–';
      return typeof value === 'string' ? value : value.toFixed(digits);
    }),
  ),
});

export const formatGrouped = (value: number): string => Math.round(value).toLocaleString('en-US');
export const formatRange = ({ median, min, max }: Spread, digits: number): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;

/** Columns as wide as their widest cell; text aligned to the left, numbers to the right. */
export const alignColumns = ({ head, rows, textColumns: words }: Table): string => {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const pad = (cell: string, column: number): string =>
    column < words ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return all.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
};

export const renderMarkdownTable = ({ head, rows, textColumns: words }: Table): string => {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column < words ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
};

/**
 * Renders a report as plain text for a terminal or a ticket, and as Markdown. Pure.
 */
import type { Result } from './result.ts';
import { buildSteadyTable, describeSteady } from './steady.ts';
import { buildNotes, buildRatioTable, buildServerTable, describeRun, type Table } from './tables.ts';

/** Columns as wide as their widest cell; text aligned to the left, numbers to the right. */
export const alignColumns = ({ head, rows, textColumns: words }: Table): string => {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) =>
          column < words ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

const ratioLines = (result: Result): string[] => {
  const table = buildRatioTable(result);
  if (table.rows.length === 0) return [];
  return ['Rollcall ÷ another, median of rounds (lowest–highest)', alignColumns(table), ''];
};

const steadyLines = ({ steady }: Result): string[] =>
  steady === null ? [] : [describeSteady(steady), alignColumns(buildSteadyTable(steady)), ''];

export const renderText = (result: Result): string =>
  [
    ...describeRun(result),
    '',
    alignColumns(buildServerTable(result)),
    '',
    ...ratioLines(result),
    ...steadyLines(result),
    ...buildNotes(result),
  ]
    .join('\n')
    .trimEnd();

export const renderMarkdownTable = ({ head, rows, textColumns: words }: Table): string => {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column < words ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
};

export const renderMarkdown = (result: Result): string =>
  [
    '# Rollcall: bench report',
    ...describeRun(result),
    ...(buildRatioTable(result).rows.length === 0
      ? []
      : ['## Rollcall ÷ the others', renderMarkdownTable(buildRatioTable(result))]),
    '## Figures',
    renderMarkdownTable(buildServerTable(result)),
    ...(result.steady === null
      ? []
      : [describeSteady(result.steady), renderMarkdownTable(buildSteadyTable(result.steady))]),
    buildNotes(result)
      .map((note) => `- ${note}`)
      .join('\n'),
  ].join('\n\n');

/**
 * Renders a report as plain text for a terminal or a ticket, and as Markdown. Pure.
 */
import type { Result } from './result.ts';
import { buildSteadyTable, describeSteady } from './steady.ts';
import { alignColumns, renderMarkdownTable } from './table.ts';
import { buildNotes, buildRatioTable, buildServerTable, describeRun } from './tables.ts';

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

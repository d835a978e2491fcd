/**
 * Renders a result as one self-contained HTML file: tables, SVG charts, and how to read them. Pure.
 */
import {
  drawCpuBars,
  drawFlushLag,
  drawLatency,
  drawMemory,
  drawRateBars,
  drawThroughput,
} from './charts.ts';
import type { Result } from './result.ts';
import { buildSteadyTable, describeSteady } from './steady.ts';
import type { Table } from './table.ts';
import { buildNotes, buildRatioTable, buildServerTable, describeRun } from './tables.ts';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style = `
  :root { color-scheme: light; }
  body { font: 15px/1.5 system-ui, sans-serif; color: #212529; background: #fff; margin: 0; }
  main { max-width: 1160px; margin: 0 auto; padding: 32px 20px 64px; }
  h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 40px 0 12px; }
  p { margin: 0 0 6px; max-width: 150ch; } .faint { color: #5c636a; font-size: 13px; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%; }
  th { text-align: right; font-weight: 600; border-bottom: 2px solid #ced4da; padding: 4px 8px;
    white-space: nowrap; }
  td { text-align: right; border-bottom: 1px solid #e9ecef; padding: 4px 8px; white-space: nowrap; }
  th.word, td.word { text-align: left; }
  tr.ours td { background: #eef4ff; font-weight: 600; } tr.first td { border-top: 1px solid #adb5bd; }
  .met { color: #2b8a3e; } .missed { color: #c92a2a; }
  .charts { display: grid; gap: 16px;
    grid-template-columns: repeat(auto-fit, minmax(min(520px, 100%), 1fr)); }
  .charts svg, .wide svg { width: 100%; height: auto; border: 1px solid #e9ecef; border-radius: 6px; }
  .wide { margin: 0 0 16px; }
  ul { padding-left: 20px; margin: 8px 0; }
`;

const cell = (tag: string, text: string, word: boolean): string => {
  const met = text.endsWith(' ✓') ? ' met' : text.endsWith(' ✗') ? ' missed' : '';
  return `<${tag} class="${word ? 'word' : ''}${met}">${escapeHtml(text)}</${tag}>`;
};

/** The first column repeats no name. */
const renderTable = ({ head, rows, textColumns: words }: Table): string => {
  const body = rows.map((row, index) => {
    const isFirst = row[0] !== rows[index - 1]?.[0];
    const cells = row.map((text, column) => cell('td', column === 0 && !isFirst ? '' : text, column < words));
    const classes = [row[1] === 'rollcall' ? 'ours' : '', isFirst ? 'first' : ''].join(' ').trim();
    return `<tr class="${classes}">${cells.join('')}</tr>`;
  });
  const heads = head.map((text, column) => cell('th', text, column < words)).join('');
  const table = `<thead><tr>${heads}</tr></thead><tbody>${body.join('')}</tbody>`;
  return `<div class="scroll"><table>${table}</table></div>`;
};

const renderPage = (body: string): string =>
  `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Rollcall: bench report</title>` +
  `<meta name="viewport" content="width=device-width,initial-scale=1"><style>${style}</style></head>` +
  `<body><main>${body}</main></body></html>\n`;

const paragraphs = (lines: readonly string[]): string =>
  lines.map((line) => `<p class="faint">${escapeHtml(line)}</p>`).join('');
const list = (lines: readonly string[]): string =>
  lines.length === 0 ? '' : `<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`;
const wide = (svg: string): string => `<div class="wide">${svg}</div>`;
const grid = (charts: readonly (string | null)[]): string =>
  `<div class="charts">${charts.filter((svg) => svg !== null).join('')}</div>`;

/** Renders the whole report. */
export const renderHtml = (result: Result): string => {
  const { scenarios, moments, steady } = result;
  const ratios = buildRatioTable(result);
  const perScenario = scenarios.flatMap((one) => [drawLatency(one), drawThroughput(result, one)]);
  const body = [
    '<h1>Rollcall: bench report</h1>',
    paragraphs(describeRun(result)),
    list(buildNotes(result)),
    ratios.rows.length === 0 ? '' : `<h2>Rollcall ÷ the others</h2>${renderTable(ratios)}`,
    '<h2>Figures</h2>',
    renderTable(buildServerTable(result)),
    ...(steady === null ? [] : [paragraphs([describeSteady(steady)]), renderTable(buildSteadyTable(steady))]),
    '<h2>Charts</h2>',
    result.samples.some(({ cpuUs }) => cpuUs > 0) ? wide(drawCpuBars(result)) : '',
    wide(drawRateBars(result)),
    grid(perScenario),
    moments.length > 1
      ? `<h2>While it was measured</h2>${grid([drawMemory(result), drawFlushLag(result)])}`
      : '',
  ];
  return renderPage(body.join('\n'));
};

/**
 * Renders a report as one self-contained HTML file: the sentences and tables of the text, and charts. Pure.
 */
import type { Table } from './table.ts';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style = `
  body { font: 15px/1.5 system-ui, sans-serif; color: #212529; background: #fff; margin: 0; }
  main { max-width: 1160px; margin: 0 auto; padding: 32px 20px 64px; }
  h1 { font-size: 24px; } p { margin: 0 0 6px; max-width: 150ch; color: #5c636a; font-size: 13px; }
  .scroll { overflow-x: auto; margin: 24px 0; }
  table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%; }
  th, td { text-align: right; border-bottom: 1px solid #e9ecef; padding: 4px 8px; white-space: nowrap; }
  .word { text-align: left; } .ours td { background: #eef4ff; font-weight: 600; }
  .met { color: #2b8a3e; } .missed { color: #c92a2a; }
  .charts { display: grid; gap: 16px;
    grid-template-columns: repeat(auto-fit, minmax(min(520px, 100%), 1fr)); }
  svg { width: 100%; height: auto; border: 1px solid #e9ecef; border-radius: 6px; margin: 0 0 16px; }
`;

const renderCell = (tag: string, text: string, isWord: boolean): string => {
  const met = text.endsWith(' ✓') ? ' met' : text.endsWith(' ✗') ? ' missed' : '';
  return `<${tag} class="${isWord ? 'word' : ''}${met}">${escapeHtml(text)}</${tag}>`;
};

const renderTable = ({ head, rows, textColumns: words }: Table): string => {
  const toCells = (tag: string, row: readonly string[]): string =>
    row.map((text, column) => renderCell(tag, text, column < words)).join('');
  const body = rows.map(
    (row) => `<tr${row[1] === 'rollcall' ? ' class="ours"' : ''}>${toCells('td', row)}</tr>`,
  );
  return `<div class="scroll"><table><tr>${toCells('th', head)}</tr>${body.join('')}</table></div>`;
};

/** `wide` charts stand above the others. */
export const renderHtml = (
  parts: readonly (string | Table)[],
  charts: { readonly wide: readonly string[]; readonly others: readonly string[] },
): string => {
  const body = parts.map((part) =>
    typeof part === 'string' ? `<p>${escapeHtml(part)}</p>` : renderTable(part),
  );
  const figures = `${charts.wide.join('')}<div class="charts">${charts.others.join('')}</div>`;
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Rollcall: bench report</title>` +
    `<meta name="viewport" content="width=device-width,initial-scale=1"><style>${style}</style></head>` +
    `<body><main><h1>Rollcall: bench report</h1>${body.join('\n')}${figures}</main></body></html>\n`
  );
};

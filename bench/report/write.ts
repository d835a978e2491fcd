/**
 * Writes a result to a folder: JSON for tools, Markdown for a ticket, HTML for people.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderHtml } from './html.ts';
import type { Result } from './result.ts';
import { renderMarkdown } from './text.ts';

/** Returns the path of the HTML file. Overwrites its own earlier files. */
export const writeReports = (folder: string, result: Result): string => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(result, null, 2)}\n`);
  writeFileSync(join(folder, 'report.md'), `${renderMarkdown(result)}\n`);
  const page = join(folder, 'report.html');
  writeFileSync(page, renderHtml(result));
  return page;
};

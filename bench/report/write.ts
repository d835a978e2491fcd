/**
 * Writes a result to a folder: JSON for tools, Markdown for a ticket, HTML for people. Called by main.ts.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportHtml } from './html.ts';
import type { Result } from './result.ts';
import { reportMarkdown } from './text.ts';

/** Returns the path of the HTML file. Overwrites its own earlier files. */
export const writeReports = (folder: string, result: Result): string => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), `${JSON.stringify(result, null, 2)}\n`);
  writeFileSync(join(folder, 'report.md'), `${reportMarkdown(result)}\n`);
  const page = join(folder, 'report.html');
  writeFileSync(page, reportHtml(result));
  return page;
};

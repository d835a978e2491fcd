/**
 * Writes the whole directory as lines of the import format, page by page in bounded memory.
 *
 * Reads SQL only, so counts that are not flushed yet are missing. Each page is one short statement;
 * `exportSnapshot` reads all pages from one snapshot of the database. Called by the command line and the
 * private listener.
 */
import type { Queryable, Sql } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { sections } from './records.ts';
import type { ExportSection } from './section.ts';

export interface ExportOptions {
  readonly pageRows?: number;
  readonly onProgress?: (linesDone: number) => void;
}
/** Receives the text; resolves when it may receive more. A rejection ends the export. */
export type Sink = (text: string) => Promise<void>;

const pageRowsDefault = 500;

/**
 * Sends the export to `sink` in chunks of whole lines. Resolves to the number of lines. A change made
 * during the export may be in some pages and not in others; for a consistent export, pass a transaction or
 * use `exportSnapshot`.
 */
export const exportDirectory = async (
  sql: Queryable,
  sink: Sink,
  options: ExportOptions = {},
): Promise<number> => {
  let lines = 0;
  for (const section of sections) {
    for await (const page of pagesOf(sql, section, options.pageRows ?? pageRowsDefault)) {
      await sink(`${page.join('\n')}\n`);
      lines += page.length;
      options.onProgress?.(lines);
    }
  }
  return lines;
};

/** Exports one snapshot of the database. Uses one connection until the sink has received everything. */
export const exportSnapshot = (sql: Sql, sink: Sink, options: ExportOptions = {}): Promise<number> =>
  sql.begin('isolation level repeatable read read only', (transaction) =>
    exportDirectory(transaction, sink, options),
  ) as Promise<number>;

async function* pagesOf(sql: Queryable, section: ExportSection, limit: number): AsyncGenerator<string[]> {
  let after = section.start;
  for (;;) {
    const rows = await section.page(sql, after, limit).catch((error: unknown) => {
      throw toStorageError('export', error);
    });
    if (rows.length > 0)
      yield rows.map((row) => JSON.stringify({ kind: section.kind, ...section.record(row) }));
    if (rows.length < limit) return;
    after = String(rows.at(-1)?.key);
  }
}

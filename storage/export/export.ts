/**
 * The whole directory as lines of the import format, page by page in bounded memory.
 *
 * Reads SQL only: what the engine has counted and not yet flushed is not in it. A page is one short
 * statement; with `snapshot` all pages see one moment. Called by the command line and the admin listener.
 */
import type { Queryable, Sql } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { sections } from './records.ts';
import type { ExportSection } from './section.ts';

export interface ExportOptions {
  readonly pageRows?: number;
  readonly onProgress?: (linesDone: number) => void;
}
/** Resolves when the text is taken; a rejection ends the export. */
export type Sink = (text: string) => Promise<void>;

const pageRowsDefault = 500;

/**
 * Hands the export to `sink` in chunks of whole lines. Resolves to the number of lines. Between pages others
 * may write; give a transaction, or use `exportSnapshot`, where that matters.
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

/** The export of one moment. Holds a connection until the sink has taken all of it. */
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

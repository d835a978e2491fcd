/**
 * Writes the history of all listings as JSON lines or CSV, page by page in bounded memory.
 *
 * Rows are as stored: a listing has one for each time at which a value of it changed, so a value holds until
 * the next row. JSON lines begin with the times that have values: all other times are holes. All pages are
 * read from one snapshot.
 */
import { buildColumns, type Level, levels, levelTables, metrics, statuses } from '../history/levels.ts';
import { type HistoryRow, type HistoryTimes, readHistoryTimes } from '../history/read.ts';
import type { Queryable, Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { countRowsOf, type ExportOptions, type Sink } from './export.ts';

export interface HistoryExportOptions extends ExportOptions {
  readonly csv: boolean;
}

const pageRowsDefault = 2_000;

type PageRow = HistoryRow & {
  readonly incarnation: number;
  /** `null` for rows of a deleted listing that are still to be deleted. */
  readonly kind: string | null;
  readonly entity_id: string;
};

/** Sends the export to `sink` in chunks of whole lines. Resolves to the number of lines. */
export const exportHistory = (sql: Sql, sink: Sink, options: HistoryExportOptions): Promise<number> =>
  sql.begin('isolation level repeatable read read only', async (transaction) => {
    const { csv, pageRows = pageRowsDefault, onProgress } = options;
    let lines = 0;
    const send = async (page: readonly string[]): Promise<void> => {
      if (page.length === 0) return;
      await sink(page.join(''));
      lines += page.length;
      onProgress?.(lines);
    };
    if (csv) await send([`level,time,target_type,target_id,${metrics.join()},status\r\n`]);
    const times = await readHistoryTimes(transaction);
    for (const level of levels) {
      if (!csv) await send(formatTimes(level, times));
      for await (const page of readPages(transaction, level, pageRows))
        await send(page.filter(({ kind }) => kind !== null).map((row) => formatRow(level, row, csv)));
    }
    return lines;
  }) as Promise<number>;

/** Counts the lines of an export of the present content, but for the few that are no rows. */
export const countHistoryRows = (sql: Sql): Promise<number> => countRowsOf(sql, Object.values(levelTables));

const formatTime = (minute: number): string => new Date(minute * 60_000).toISOString();

const formatTimes = (level: Level, times: HistoryTimes): readonly string[] =>
  times[level].map((at) => `{"kind":"history_time","level":"${level}","time":"${formatTime(at)}"}\n`);

async function* readPages(sql: Queryable, level: Level, limit: number): AsyncGenerator<readonly PageRow[]> {
  for (let [incarnation, at] = [0, 0]; ; ) {
    const rows = await asStorage(
      'export.history',
      () => sql<PageRow[]>`
        select page.*, totals.kind, totals.entity_id
        from (
          select incarnation, at, ${buildColumns(sql)} from ${sql(levelTables[level])}
          where (incarnation, at) > (${incarnation}::bigint, ${at}::integer)
          order by incarnation, at limit ${limit}) as page
        left join totals on totals.incarnation = page.incarnation
        order by page.incarnation, page.at`,
    );
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    [incarnation, at] = [last.incarnation, last.at];
  }
}

const formatRow = (level: Level, row: PageRow, csv: boolean): string => {
  const time = formatTime(row.at);
  const status = statuses[row.status as keyof typeof statuses];
  if (csv) {
    const numbers = metrics.map((metric) => row[metric]).join();
    return `${level},${time},${row.kind},${quote(row.entity_id)},${numbers},${status}\r\n`;
  }
  // Integers beyond 2^53 are digits here, which `JSON.stringify` would quote.
  const numbers = metrics.map((metric) => `"${metric}":${row[metric]}`).join();
  const target = `"target_type":"${row.kind}","target_id":${JSON.stringify(row.entity_id)}`;
  const head = `"kind":"history","level":"${level}","time":"${time}"`;
  return `{${head},${target},${numbers},"status":"${status}"}\n`;
};

/** Quotes as RFC 4180 has it. */
const quote = (id: string): string => (/^[\w-]+$/.test(id) ? id : `"${id.replaceAll('"', '""')}"`);

/**
 * Writes the whole directory as lines of the import format, page by page in bounded memory.
 *
 * Reads SQL only, so counts that are not flushed yet are missing. Each page is one short statement, and all
 * are read from one snapshot of the database.
 */

import { totalsFields } from '../import/directory.ts';
import { type AnyRecord, readFields } from '../import/fields.ts';
import { exportHead, type RecordKind, recordKinds } from '../import/kinds.ts';
import type { Queryable, Sql } from '../sql/client.ts';
import { asStorage, toStorageError } from '../sql/errors.ts';
import { readNumber } from '../sql/rows.ts';

export interface ExportOptions {
  readonly pageRows?: number;
  readonly onProgress?: (linesDone: number) => void;
}
/** Receives the text; resolves when it may receive more. A rejection ends the export. */
export type Sink = (text: string) => Promise<void>;

const pageRowsDefault = 500;

/**
 * Sends the export to `sink` in chunks of whole lines. Resolves to the number of lines. Uses one connection
 * until the sink has received everything.
 */
export const exportDirectory = (
  sql: Sql,
  sink: Sink,
  { pageRows = pageRowsDefault, onProgress }: ExportOptions = {},
): Promise<number> =>
  sql.begin('isolation level repeatable read read only', async (transaction) => {
    await sink(`${exportHead}\n`);
    let lines = 1;
    for (const kind of Object.values(recordKinds)) {
      for await (const page of readPages(transaction, kind, pageRows)) {
        await sink(`${page.join('\n')}\n`);
        lines += page.length;
        onProgress?.(lines);
      }
    }
    return lines;
  }) as Promise<number>;

/** Counts the rows of tables, however long that takes. */
export const countRowsOf = (sql: Sql, tables: readonly string[]): Promise<number> =>
  asStorage('export.count', () =>
    sql.begin(async (transaction) => {
      await transaction`set local statement_timeout = 0`;
      const counts = tables.map((table) => `(select count(*) from ${table})`);
      return readNumber(transaction.unsafe(`select ${counts.join(' + ')} as rows`));
    }),
  ) as Promise<number>;

/** Counts the lines of an export of the present content. */
export const countLines = async (sql: Sql): Promise<number> => {
  const tables = Object.values(recordKinds).map(({ table }) => table);
  return 1 + (await countRowsOf(sql, tables));
};

async function* readPages(sql: Queryable, kind: RecordKind, limit: number): AsyncGenerator<string[]> {
  const { statement, order, start } = buildPage(kind);
  for (let after = start; ; ) {
    const rows = await sql
      .unsafe<AnyRecord[]>(statement, [after, limit], { prepare: true })
      .catch((error: unknown) => {
        throw toStorageError('export', error);
      });
    if (rows.length > 0) yield rows.map((row) => formatLine(kind, row));
    if (rows.length < limit) return;
    after = String(rows.at(-1)?.[order]);
  }
}

/** Lines omit what equals the defaults of the import. */
const formatLine = ({ name, fields, adaptRow }: RecordKind, row: AnyRecord): string =>
  JSON.stringify({ kind: name, ...readFields(fields, adaptRow?.(row) ?? row) });

interface Page {
  readonly statement: string;
  /** The column that orders the rows. */
  readonly order: string;
  /** A value lower than every value of that column: where the first page starts. */
  readonly start: string;
}
const starts: Readonly<Record<string, string>> = {
  bigint: '0',
  uuid: '00000000-0000-0000-0000-000000000000',
};

/**
 * Listings are in the order in which they were listed, all others in the order of their key. Each is the
 * order of an index, so a page costs only its own rows, and an import of the export gives the same order.
 */
const buildPage = (kind: RecordKind): Page => {
  const { table, key, fields, listing, from = table, select = '' } = kind;
  const order = listing ? 'incarnation' : key;
  const type = listing ? 'bigint' : (fields[key]?.type ?? 'text');
  const totals = Object.entries(totalsFields)
    .filter(([name]) => name in fields)
    .map(([name, { column }]) => `, n.${column ?? name}`);
  const counted = listing ? [totals.join(''), ' join totals n using (incarnation)'] : ['', ''];
  const named =
    listing === 'named' ? [', v.code as vanity', ' join vanity v on v.itag = e.vanity_ref'] : ['', ''];
  const statement =
    `select e.*${select}${counted[0]}${named[0]} from ${from} e${counted[1]}${named[1]} ` +
    `where e.${order} > $1::${type} order by e.${order} limit $2`;
  return { statement, order, start: starts[type] ?? '' };
};

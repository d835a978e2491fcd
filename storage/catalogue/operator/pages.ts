/**
 * Pages of the operator's lists: the rows, the number of all rows, and whether that number is exact.
 *
 * Counting stops at `countedMax`, so that a page of a list costs the same whatever its length; beyond it the
 * planner's estimate, or "at least", says enough.
 */
import type { Fragment, Queryable, Sql } from '../../sql/client.ts';

/** How exact `total` is. */
export type TotalIs = 'exact' | 'about' | 'at_least';
export interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly totalIs: TotalIs;
  /** `rowsPerPage` if absent. */
  readonly rowsMax?: number;
}

export const rowsPerPage = 50;
export const countedMax = 10_000;

/** Limits a statement to one page; pages count from 1. */
export const buildPage = (sql: Queryable, page: number, rows = rowsPerPage) =>
  sql`limit ${rows} offset ${(page - 1) * rows}`;

export interface ListSource {
  /** The statement that reads the rows in their order, without a limit. */
  readonly select: Fragment;
  readonly table: string;
  /** The condition of the statement, if it has one. */
  readonly where?: Fragment | undefined;
  /** `rowsPerPage` if absent. */
  readonly rowsMax?: number;
}

/** Counts the rows, up to `countedMax`. */
const readTotal = async (
  sql: Sql,
  { table, where }: Pick<ListSource, 'table' | 'where'>,
): Promise<Pick<ListPage<unknown>, 'total' | 'totalIs'>> => {
  const [row] = await sql<{ counted: number; estimated: number }[]>`
    select count(*) as counted,
      (select reltuples::bigint from pg_class where oid = ${table}::regclass) as estimated
    from (select from ${sql(table)} ${where ?? sql``} limit ${countedMax + 1}) as counted_rows`;
  const { counted, estimated } = row ?? { counted: 0, estimated: 0 };
  if (counted <= countedMax) return { total: counted, totalIs: 'exact' };
  if (where !== undefined) return { total: countedMax, totalIs: 'at_least' };
  return { total: Math.max(estimated, counted), totalIs: 'about' };
};

/** Reads the rows of a page, and the total of their list. */
export const readWithTotal = async <Row extends object>(
  sql: Sql,
  counted: Pick<ListSource, 'table' | 'where'>,
  rows: PromiseLike<readonly Row[]>,
): Promise<ListPage<Row>> => {
  const [read, total] = await Promise.all([rows, readTotal(sql, counted)]);
  return { rows: read, ...total };
};

/** Reads a page of a list and its total. */
export const readPage = async <Row extends object>(
  sql: Sql,
  source: ListSource,
  page: number,
): Promise<ListPage<Row>> => {
  const { rowsMax = rowsPerPage } = source;
  const rows = sql<Row[]>`${source.select} ${buildPage(sql, page, rowsMax)}`;
  return { rowsMax, ...(await readWithTotal(sql, source, rows)) };
};

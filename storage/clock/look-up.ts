/**
 * Looks up whether the stores have times ahead of a clock, at the cost of a few indexed or small tables,
 * whatever the size of the directory.
 *
 * Every commit marks the hot store with the time by its clock, which bounds the times of votes and posts. In
 * SQL every node that ran has left a heartbeat and the due times of jobs. Votes and last posts are looked up
 * besides, since copies have no marks, and later batches replace them: votes are partitioned by time, and of
 * last posts a sample does, because a wrong clock is behind most of them within the hour.
 */
import type { HotTransfer } from '../move/records.ts';
import type { Sql } from '../sql/client.ts';
import { readNumber } from '../sql/rows.ts';
import { getUnit, sqlTimes, type TimeUnit } from './times.ts';

/** What lies no further ahead of the clock than this counts as right. */
export const aheadMsMax = 86_400_000;

export interface LookUpStores {
  readonly sql: Sql;
  readonly hot: { readonly transfer: Pick<HotTransfer, 'findNewestMs'> };
}

/** A time in the stores that lies ahead of the clock. */
export interface TimeAhead {
  readonly place: string;
  readonly atMs: number;
}

/** Builds the literal of a time for comparison with a column: a column with a later one is ahead of it. */
export const formatLimit = (unit: TimeUnit, atMs: number): string => {
  const iso = new Date(atMs).toISOString();
  if (unit === 'ms') return String(Math.floor(atMs));
  if (unit === 'minutes') return String(Math.floor(atMs / 60_000));
  return unit === 'time' ? `'${iso}'::timestamptz` : `('${iso.slice(0, 7)}-01'::date - 1)`;
};

/** Builds the condition that a column is ahead of a time. */
export const buildAhead = (table: string, column: string, atMs: number): string => {
  const unit = getUnit(table, column);
  const finite = unit === 'time' ? ` and ${column} < 'infinity'` : '';
  return `(${column} > ${formatLimit(unit, atMs)}${finite})`;
};

const toMs: Readonly<Record<TimeUnit, (newest: string) => string>> = {
  time: (newest) => `extract(epoch from ${newest}) * 1000`,
  month: (newest) => `extract(epoch from ${newest}) * 1000`,
  ms: (newest) => newest,
  minutes: (newest) => `${newest}::bigint * 60000`,
};

const samplePages = 1_000;
/** All rows of a table of up to so many pages, some 50,000 listings; above, rows of about so many pages. */
const buildSample = (table: string): string => {
  const percent = `${100 * samplePages} * 8192.0 / (pg_relation_size('${table}') + 1)`;
  return ` tablesample system ((select least(100, ${percent})))`;
};

const buildLookUp = (limitMs: number): string =>
  Object.entries(sqlTimes)
    .flatMap(([table, columns]) =>
      Object.entries(columns)
        .filter(([, { look }]) => look !== undefined)
        .map(([column, { look }]) => {
          const newest = toMs[getUnit(table, column)](`max(${column})`);
          const sample = look === 'sample' ? buildSample(table) : '';
          const from = `from ${table}${sample} where ${buildAhead(table, column, limitMs)}`;
          return `select '${table}.${column}' as place, (${newest})::bigint as "atMs" ${from}`;
        }),
    )
    .join(' union all ');

/** Resolves to the newest times more than a day ahead of `nowMs`, the furthest first. */
export const findTimesAhead = async (
  { sql, hot }: LookUpStores,
  nowMs: number,
): Promise<readonly TimeAhead[]> => {
  const limitMs = nowMs + aheadMsMax;
  const rows = await sql.unsafe<{ place: string; atMs: number | null }[]>(buildLookUp(limitMs));
  const newest = { place: 'the last batch in the hot store', atMs: await hot.transfer.findNewestMs() };
  return [newest, ...rows]
    .filter((time): time is TimeAhead => time.atMs !== null && time.atMs > limitMs)
    .sort((one, other) => other.atMs - one.atMs);
};

export const formatTimes = (times: readonly TimeAhead[]): string =>
  times.map(({ place, atMs }) => `${place} ${new Date(atMs).toISOString()}`).join(', ');

/** Reads the clock of SQL, ms. */
export const readSqlMs = (sql: Sql): Promise<number> =>
  readNumber(sql`select (extract(epoch from clock_timestamp()) * 1000)::bigint`);

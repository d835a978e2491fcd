/**
 * Reads the history of one listing, and the times that have values.
 *
 * A listing has no row for a time at which nothing changed, so the row before a range gives its first values.
 * That row may be of a coarser level, because finer ones expire.
 */
import type { EntityRef } from '../../engine/ids.ts';
import { createSnapshots } from '../catalogue/shared/cache.ts';
import type { Queryable, Sql } from '../sql/client.ts';
import { asStorage, bindStorage } from '../sql/errors.ts';
import { buildColumns, type Level, levels, levelTables, type Metric, type Minute } from './levels.ts';
import { readVoteMonths } from './vote-months.ts';

/** Integers beyond 2^53 are decimal strings. */
export type HistoryRow = Readonly<Record<Metric, number | string>> & {
  readonly at: Minute;
  readonly status: string;
};

export interface HistoryRange {
  readonly level: Level;
  readonly from: Minute;
  readonly to: Minute;
}

/** The times that have values, ascending; all other times are holes. */
export type HistoryTimes = Readonly<Record<Level, readonly Minute[]>> & {
  /** The newest whole sample; 0 before the first. */
  readonly newest: Minute;
};

/**
 * Reads, in ascending order, the rows within the range, and the last row before it of this and each coarser
 * level. At most one row per time of the level, so the caller bounds the range.
 */
const readRows = (sql: Queryable, { incarnation }: EntityRef, { level, from, to }: HistoryRange) => {
  const coarser = levels.slice(levels.indexOf(level));
  const before = coarser.map(
    (name) => sql`union all
      (select at, ${buildColumns(sql)} from ${sql(levelTables[name])}
      where incarnation = ${incarnation} and at < ${from} order by at desc limit 1)`,
  );
  return sql<HistoryRow[]>`
    select at, ${buildColumns(sql)} from ${sql(levelTables[level])}
    where incarnation = ${incarnation} and at >= ${from} and at <= ${to}
    ${before} order by at`;
};

/** Builds the list of the times of a level up to `until`, a column of `history_state`. */
const selectTimes = (sql: Queryable, level: Level, until: 'whole_at' | 'hour' | 'day') => sql`
  array(select times.at from history_times as times
    where level = ${level} and times.at <= state.${sql(until)} order by times.at)`;

/** Reads the times. Those whose values may still change are left out: an hour has values once rolled up. */
export const readHistoryTimes = async (sql: Queryable): Promise<HistoryTimes> => {
  const [row] = await sql<HistoryTimes[]>`
    select ${selectTimes(sql, 'fine', 'whole_at')} as fine, ${selectTimes(sql, 'hours', 'hour')} as hours,
      ${selectTimes(sql, 'days', 'day')} as days, whole_at as newest
    from history_state as state`;
  return row ?? { fine: [], hours: [], days: [], newest: 0 };
};

/** How long the times are cached. */
const timesAgeMaxMs = 2_000;

export const createHistory = (sql: Sql) => {
  const snapshots = createSnapshots({ entriesMax: 1, ageMaxMs: timesAgeMaxMs });
  return {
    /** Reads the times, at most 2 s old. While SQL is unreachable the last ones stay true: no sample runs. */
    times: (): Promise<HistoryTimes> =>
      snapshots.get('times', () => asStorage('history.times', () => readHistoryTimes(sql))),
    ...bindStorage('history', sql, { rows: readRows, months: readVoteMonths }),
  };
};

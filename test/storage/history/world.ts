/**
 * Minutes, listings and the history job over one SQL, for tests of the history.
 *
 * `run` does what the fleet job does at one instant. Totals are set by plain statements.
 */
import { createHistoryJob, type HistorySettings } from '../../../ops/jobs/history.ts';
import type { StepOptions } from '../../../storage/history/steps.ts';
import type { Sql } from '../../../storage/sql/client.ts';

export const settings: HistorySettings = { historyFineMinutes: 5, historyFineHours: 48, historyHourDays: 30 };

export const toMinute = (text: string): number => Date.parse(text) / 60_000;

/** Steps that are never cut off. */
export const never: StepOptions = {
  monotonicMs: () => performance.now(),
  signal: new AbortController().signal,
};

export interface Recorded {
  readonly rows: Record<string, number>;
  holes: number;
}

export const createRunner = (sql: Sql, changed: Partial<HistorySettings> = {}) => {
  const recorded: Recorded = { rows: { fine: 0, hours: 0, days: 0 }, holes: 0 };
  const meters = {
    recordRows: (level: string, rows: number): void => {
      recorded.rows[level] = (recorded.rows[level] ?? 0) + rows;
    },
    recordSample: (): void => {},
    recordHoles: (holes: number): void => {
      recorded.holes += holes;
    },
  };
  return {
    recorded,
    /** Runs the job for this minute; `onStep` is called around each step. */
    run: (at: number, signal = never.signal, onStep: () => void = () => {}): Promise<void> => {
      const monotonicMs = (): number => {
        onStep();
        return performance.now();
      };
      const job = createHistoryJob({ sql, settings: { ...settings, ...changed }, meters, monotonicMs });
      return job.run({ dueAtMs: at * 60_000, signal });
    },
  };
};

/** Removes all listings and their history. */
export const emptyHistory = async (sql: Sql): Promise<Sql> => {
  const partitions = await sql<{ name: string }[]>`
    select child.relname as name from pg_inherits join pg_class as child on child.oid = inhrelid
    where inhparent::regclass::text like 'history%' and child.relkind = 'r'`;
  for (const { name } of partitions) await sql`drop table ${sql(name)}`;
  for (const table of ['history_times', 'history_heads', 'history_deleted', 'totals', 'votes', 'vote_resets'])
    await sql`delete from ${sql(table)}`;
  await sql`delete from vote_months`;
  await sql`delete from vote_months_archived`;
  await sql`update history_state set at = 0, position = 0, whole_at = 0, hour = 0, day = 0`;
  return sql;
};

/** Adds a listing with these totals. Resolves to its incarnation. */
export const addListing = async (sql: Sql, id: string, totals: object = {}): Promise<number> => {
  const [row] = await sql<{ incarnation: number }[]>`
    insert into totals (incarnation, kind, entity_id, shard) values (nextval('incarnations'), 'bot', ${id}, 0)
    returning incarnation`;
  const { incarnation = 0 } = row ?? {};
  if (Object.keys(totals).length > 0) await setTotals(sql, incarnation, totals);
  return incarnation;
};

export const setTotals = async (sql: Sql, incarnation: number, totals: object): Promise<void> => {
  await sql`update totals set ${sql(totals as { clicks: number })} where incarnation = ${incarnation}`;
};

/** Time and clicks of each row. */
export const readRows = async (sql: Sql, level: string, incarnation: number): Promise<number[][]> => {
  const rows = await sql<{ at: number; clicks: number }[]>`
    select at, clicks from ${sql(`history_${level}`)} where incarnation = ${incarnation} order by at`;
  return rows.map(({ at, clicks }) => [at, clicks]);
};

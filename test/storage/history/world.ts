/**
 * A clock of minutes and the history job over one SQL, for tests of the history.
 *
 * `run` does what the fleet job does at one instant. Totals are set by plain statements.
 */
import { createHistoryJob, type HistorySettings } from '../../../ops/jobs/history.ts';
import type { Sql } from '../../../storage/sql/client.ts';

export const settings: HistorySettings = { historyFineMinutes: 5, historyFineHours: 48, historyHourDays: 30 };

export const toMinute = (text: string): number => Date.parse(text) / 60_000;

export interface Recorded {
  readonly rows: Record<string, number>;
  holes: number;
}

export const createRunner = (sql: Sql, changed: Partial<HistorySettings> = {}) => {
  const recorded: Recorded = { rows: { fine: 0, hours: 0, days: 0 }, holes: 0 };
  const job = createHistoryJob({
    sql,
    settings: { ...settings, ...changed },
    meters: {
      recordRows: (level, rows) => {
        recorded.rows[level] = (recorded.rows[level] ?? 0) + rows;
      },
      recordSample: () => {},
      recordHoles: (holes) => {
        recorded.holes += holes;
      },
    },
    monotonicMs: () => performance.now(),
  });
  return {
    recorded,
    /** Runs the job for this minute. */
    run: (at: number, signal = new AbortController().signal) => job.run({ dueAtMs: at * 60_000, signal }),
  };
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

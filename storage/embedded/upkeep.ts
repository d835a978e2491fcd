/**
 * Runs the maintenance that a Postgres server does by itself and PGlite does not: checkpoint and vacuum.
 *
 * Without checkpoints the write-ahead log grows for ever; without vacuum the totals table does. Other
 * statements wait during each step, so one call vacuums at most one table, and only if it needs it. Called on
 * a timer by storage/embedded/open.ts.
 */
import type { Sql } from '../sql/client.ts';

/** A checkpoint is due after this many bytes of write-ahead log. */
const checkpointAfterBytes = 64 * 1024 * 1024;
/** A table is due once this many rows plus a fifth of its live rows are dead or changed. */
const changedRowsMin = 10_000;
const changedShare = 0.2;

/** Vacuums and analyses the table with the most dead or changed rows, if it is due. */
const vacuumNeediest = async (sql: Sql): Promise<void> => {
  const [due] = await sql<{ name: string }[]>`
    select relname as name from pg_stat_user_tables
    where greatest(n_dead_tup, n_mod_since_analyze) > ${changedRowsMin} + ${changedShare}::float8 * n_live_tup
    order by greatest(n_dead_tup, n_mod_since_analyze) desc limit 1`;
  if (due) await sql`vacuum (analyze) ${sql(due.name)}`;
};

/** Returns a function that runs one step; it remembers the log position of the last checkpoint. */
export const createUpkeep = (sql: Sql): (() => Promise<void>) => {
  let checkpointedAt = '0/0';
  return async () => {
    const [log] = await sql<{ bytes: string }[]>`
      select pg_wal_lsn_diff(pg_current_wal_lsn(), ${checkpointedAt}::pg_lsn) as bytes`;
    if (Number(log?.bytes ?? 0) > checkpointAfterBytes) {
      await sql`checkpoint`;
      const [now] = await sql<{ position: string }[]>`select pg_current_wal_lsn()::text as position`;
      checkpointedAt = now?.position ?? checkpointedAt;
    }
    await vacuumNeediest(sql);
  };
};

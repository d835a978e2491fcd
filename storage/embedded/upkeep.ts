/**
 * What a Postgres server does by itself and the embedded one does not: checkpoints, vacuum, fresh statistics.
 *
 * Without checkpoints the write-ahead log grows for ever, without vacuum the totals table does. Each step
 * holds up other statements while it runs, so tables are looked after one by one and only when it pays.
 * Called on a timer by storage/embedded/open.ts.
 */
import type { Sql } from '../sql/client.ts';

/** Log written since the last checkpoint after which another is due. */
const checkpointAfterBytes = 64 * 1024 * 1024;
/** A table is due when this many rows, and a fifth of it, are dead or were changed. */
const changedRowsMin = 10_000;
const changedShare = 0.2;

/**
 * Vacuums and analyses the tables that are due, the neediest first, one per call. Resolves to their names.
 */
const vacuumNeediest = async (sql: Sql): Promise<void> => {
  const [due] = await sql<{ name: string }[]>`
    select relname as name from pg_stat_user_tables
    where greatest(n_dead_tup, n_mod_since_analyze) > ${changedRowsMin} + ${changedShare}::float8 * n_live_tup
    order by greatest(n_dead_tup, n_mod_since_analyze) desc limit 1`;
  if (due) await sql`vacuum (analyze) ${sql(due.name)}`;
};

/** One step of upkeep; remembers the log's position between calls. */
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

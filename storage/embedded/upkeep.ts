/**
 * Vacuums the tables, which a Postgres server does by itself and PGlite does not.
 *
 * Without it the totals table grows for ever. Other statements wait meanwhile, so one call vacuums at most
 * one table, and only if it needs it. Called on a timer by storage/embedded/open.ts.
 */
import type { Sql } from '../sql/client.ts';

/** A table is due once this many rows plus a fifth of its live rows are dead or changed. */
const changedRowsMin = 10_000;
const changedShare = 0.2;

/** Vacuums and analyses the table with the most dead or changed rows, if it is due. */
export const runVacuum = async (sql: Sql): Promise<void> => {
  const [due] = await sql<{ name: string }[]>`
    select relname as name from pg_stat_user_tables
    where greatest(n_dead_tup, n_mod_since_analyze) > ${changedRowsMin} + ${changedShare}::float8 * n_live_tup
    order by greatest(n_dead_tup, n_mod_since_analyze) desc limit 1`;
  if (due) await sql`vacuum (analyze) ${sql(due.name)}`;
};

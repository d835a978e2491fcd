/**
 * Rolls samples up to hours and days: copies the heads that changed within the period.
 *
 * The heads hold the last values of the period until the next sample, so a period is rolled up before a
 * sample of a later one begins. Repeating it is harmless: what exists stays.
 */
import type { Queryable, Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { buildColumns, levelMinutes, levelTables, type Minute } from './levels.ts';
import { runInSteps, type StepOptions, type StepRange, type StepResult } from './steps.ts';

export interface Period {
  readonly level: 'hours' | 'days';
  readonly end: Minute;
}

/** Writes the rows of one period. Resolves to their number. The partition must exist. */
export const writePeriod = async (sql: Sql, period: Period, options: StepOptions): Promise<number> => {
  const rows = await runInSteps(options, 0, (range) => rollStep(sql, period, range));
  const column = period.level === 'hours' ? sql`hour` : sql`day`;
  await asStorage(
    'history.rolled',
    () => sql`update history_state set ${column} = ${period.end} where ${column} < ${period.end}`,
  );
  return rows;
};

const rollStep = async (
  sql: Queryable,
  { level, end }: Period,
  { after, limit }: StepRange,
): Promise<StepResult> => {
  const [row] = await sql<{ upto: number | null; heads: number; rows: number }[]>`
    with bound as materialized (
      select max(incarnation) as upto, count(*) as heads
      from (select incarnation from history_heads where incarnation > ${after}::bigint
        order by incarnation limit ${limit}) as head
    ), written as (
      insert into ${sql(levelTables[level])} (incarnation, at, ${buildColumns(sql)})
      select incarnation, ${end}, ${buildColumns(sql)} from history_heads
      where incarnation > ${after}::bigint and incarnation <= (select upto from bound)
        and at > ${end - levelMinutes[level]} and at <= ${end}
      order by incarnation
      on conflict do nothing returning 1
    )
    select upto, heads, (select count(*) from written) as rows from bound`;
  const { upto = null, heads = 0, rows = 0 } = row ?? {};
  return { position: upto ?? after, isLast: heads < limit, rows };
};

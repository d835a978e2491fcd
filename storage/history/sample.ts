/**
 * Samples the totals of all listings: writes a row for each listing that changed since the sample before.
 *
 * `history_heads` has the values of the last sample, so a listing without a change costs a comparison. A
 * sample runs in steps; each is one statement that also moves the position in `history_state`. So a sample
 * that was cut off continues where it stopped, and a node that stalled and was replaced writes nothing more:
 * its position is no longer the current one.
 */
import type { Queryable, Sql, Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import {
  buildColumns,
  buildDifference,
  buildReplacement,
  buildSampled,
  computePeriodEnd,
  integerMax,
  levelMinutes,
  type Minute,
} from './levels.ts';
import { runInSteps, type StepOptions, type StepRange } from './steps.ts';

export interface HistoryState {
  /** The newest sample that has begun. */
  readonly at: Minute;
  /** The last listing that it has looked at. */
  readonly position: number | string;
  /** The newest sample that has looked at all listings. */
  readonly wholeAt: Minute;
  /** The newest hour and day that are rolled up, by their ends. */
  readonly hour: Minute;
  readonly day: Minute;
}

export const readHistoryState = (sql: Queryable): Promise<HistoryState> =>
  asStorage('history.state', async () => {
    const [state] = await sql<HistoryState[]>`
      select at, position, whole_at as "wholeAt", hour, day from history_state`;
    return state as HistoryState;
  });

export interface Sample {
  readonly at: Minute;
  /** Whether rows of the finest level are written, besides the heads. */
  readonly writesFine: boolean;
}

/**
 * Begins this sample, or continues it. Resolves to the number of changed listings; 0 if it is finished, or
 * if a later one has begun. The partition must exist.
 */
export const takeSample = async (sql: Sql, sample: Sample, options: StepOptions): Promise<number> => {
  const position = await asStorage('history.begin', () => beginSample(sql, sample.at));
  if (position === null) return 0;
  const changed = await runInSteps(options, position, (range) => sampleStep(sql, sample, range));
  await asStorage('history.finish', () => sql.begin((transaction) => finishSample(transaction, sample)));
  return changed;
};

/** Resolves to the position from which to continue, `null` if there is nothing to do. */
const beginSample = async (sql: Queryable, at: Minute): Promise<number | string | null> => {
  await sql`update history_state set at = ${at}, position = 0 where at < ${at}`;
  const state = await readHistoryState(sql);
  return state.at === at && state.wholeAt < at ? state.position : null;
};

/**
 * Builds the common table expressions of one step. `bound.upto` is the last listing of the range, `changed`
 * has the new values of each listing that differs from its head. `step` is empty when this is not the current
 * position of the sample `at`: then nothing may be written.
 */
const buildChanged = (sql: Queryable, at: Minute, { after, limit }: StepRange) => sql`
  bound as materialized (
    select count(*) as listings,
      case when count(*) < ${limit} then ${integerMax}::bigint else max(incarnation) end as upto
    from (select incarnation from totals where incarnation > ${after}::bigint
      order by incarnation limit ${limit}) as listing
  ), step as (
    update history_state set position = upto from bound
    where history_state.at = ${at} and position = ${after}::bigint and whole_at < ${at}
    returning upto
  ), sampled as (
    select incarnation, ${buildSampled(sql)},
      case status when 'online' then 'o' when 'idle' then 'i' when 'dnd' then 'd' when 'offline' then 'f'
        else case when ${at}::bigint * 60000 - last_stats_post_ms <= 86400000 then 'o' else 'f' end
      end::"char" as status
    from totals where incarnation > ${after}::bigint and incarnation <= (select upto from bound)
  ), changed as materialized (
    select sampled.*
    from sampled left join history_heads as head on head.incarnation = sampled.incarnation
      and head.incarnation > ${after}::bigint and head.incarnation <= (select upto from bound)
    where exists (select from step) and (head.incarnation is null or ${buildDifference(sql)})
  )`;

const buildFine = (sql: Queryable, at: Minute) => sql`
  , fine as (
    insert into history_fine (incarnation, at, ${buildColumns(sql)})
    select incarnation, ${at}, ${buildColumns(sql)} from changed order by incarnation
    on conflict do nothing
  )`;

/** Forgets deleted listings: their heads at once, their rows later (partitions.ts). */
const buildDeleted = (sql: Queryable, { after }: StepRange) => sql`
  , deleted as (
    delete from history_heads as head
    where incarnation > ${after}::bigint and incarnation <= (select upto from step)
      and not exists (select from totals where totals.incarnation = head.incarnation)
    returning incarnation
  ), noted as (
    insert into history_deleted select incarnation from deleted on conflict do nothing
  )`;

const sampleStep = async (sql: Queryable, { at, writesFine }: Sample, range: StepRange) => {
  const [row] = await sql<{ position: number | string | null; listings: number; changed: number }[]>`
    with ${buildChanged(sql, at, range)}
    ${writesFine ? buildFine(sql, at) : sql``}
    ${buildDeleted(sql, range)}
    , head as (
      insert into history_heads (incarnation, at, ${buildColumns(sql)})
      select incarnation, ${at}, ${buildColumns(sql)} from changed order by incarnation
      on conflict (incarnation) do update set at = excluded.at, ${buildReplacement(sql)}
    )
    select (select upto from step) as position, listings, (select count(*) from changed) as changed
    from bound`;
  if (row === undefined || row.position === null) throw createReplacedError(at);
  return { position: row.position, rows: row.changed, isLast: row.listings < range.limit };
};

/** Creates the error of a sample that another node took over. The job's signal says so, too, but later. */
const createReplacedError = (at: Minute): Error =>
  new Error(`another node continues the sample of ${new Date(at * 60_000).toISOString()}`);

const finishSample = async (transaction: Transaction, { at, writesFine }: Sample): Promise<void> => {
  const hour = computePeriodEnd(at, levelMinutes.hours);
  const day = computePeriodEnd(at, levelMinutes.days);
  await transaction`
    with state as (
      update history_state set whole_at = ${at} where at = ${at} and whole_at < ${at} returning at
    )
    insert into history_times (level, at)
    select level, time from state,
      (values ('fine', ${at}::integer), ('hours', ${hour}::integer), ('days', ${day}::integer))
        as new (level, time)
    where level <> 'fine' or ${writesFine}
    on conflict do nothing`;
};

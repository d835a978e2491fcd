/**
 * Adds the votes of past months to what boards remember: for `votes-last-month` and `votes-ever`.
 *
 * Each listing's row says until when it is complete and changes in one statement, so every vote is added
 * once, however often a pass is repeated. A pass runs after each monthly reset: a vote that a reset ended
 * never changes again. It waits for a while, for votes that were on their way to SQL; a later one is left
 * out.
 */
import { runInRanges, type StepOptions } from '../../history/steps.ts';
import type { Fragment, Queryable, Sql } from '../../sql/client.ts';
import { readValue } from '../../sql/rows.ts';

/** The wait after a reset. */
const lateVotesMs = 600_000;
/** A step reads all votes of a month of its listings. */
const statementMsMax = 120_000;

/** Reads the last monthly reset; before the first one, for imported votes, the beginning of the month. */
const readPastEnd = async (sql: Sql, atMs: number): Promise<Date> => {
  const reset = await readValue<Date>(sql`
    select max(at) from vote_resets where scope = 'all' and reason = 'monthly_reset'`);
  const now = new Date(atMs);
  return reset ?? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
};

/**
 * Sums the votes of the listings that `isDue` allows: those that a monthly reset ended since the last pass,
 * by themselves (`period`) and with imported ones that were void before (`before`), and those of the last
 * month.
 */
const buildSums = (sql: Queryable, end: Date, isDue: Fragment): Fragment => sql`
  select due.incarnation,
    sum(worth) filter (where own_reason = 'monthly_reset' and votes.created_at >= due.past_until
      or own_reason is null and reset.reason = 'monthly_reset' and votes.created_at >= ended_from) as before,
    sum(worth) filter (where own_reason is null and reset.reason = 'monthly_reset'
      and votes.created_at >= ended_from) as period,
    sum(worth) filter (where votes.created_at >= ${end}::timestamptz - interval '1 month'
      and coalesce(own_reason, reset.reason, 'monthly_reset') = 'monthly_reset') as month
  from (
    select incarnation, past_until, coalesce((select at from vote_resets
      where scope = 'all' and at = past_until and reason = 'monthly_reset'), '-infinity') as ended_from
    from board_listings where ${isDue}) as due
  left join lateral (
    select *, case when upvote then 1 else -1 end as worth, case when void then void_reason end as own_reason
    from votes where votes.incarnation = due.incarnation and created_at < ${end}
      and created_at >= least(ended_from, ${end}::timestamptz - interval '1 month')
  ) as votes on true
  left join lateral (
    select reason from vote_resets
    where scope in ('all', votes.incarnation::text) and at > votes.created_at and not votes.immutable
    order by at limit 1
  ) as reset on true
  group by due.incarnation`;

/**
 * Brings all listings up to the last monthly reset. Resolves to whether they are: false while it is too
 * early. Rejects when the signal aborts.
 */
export const addPastVotes = async (sql: Sql, atMs: number, options: StepOptions): Promise<boolean> => {
  const end = await readPastEnd(sql, atMs);
  if (atMs < end.getTime() + lateVotesMs) return false;
  await runInRanges(sql, options, ({ after, upto }) =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('statement_timeout', ${String(statementMsMax)}, true)`;
      const isDue: Fragment = transaction`
        incarnation > ${after}::bigint and incarnation <= ${upto}::bigint and past_until < ${end}`;
      await transaction`
        update board_listings as listing set past_until = ${end},
          votes_before = votes_before + coalesce(before, 0),
          votes_period = coalesce(period, 0), votes_month = coalesce(month, 0)
        from (${buildSums(transaction, end, isDue)}) as past
        where listing.incarnation = past.incarnation and listing.past_until < ${end}`;
    }),
  );
  return true;
};

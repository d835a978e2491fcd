/**
 * What boards remember of each listing: the heat of its events, and its clicks and servers of the last days.
 *
 * A pass goes through all bots and servers by incarnation, in short steps, and writes only those that
 * changed. Each step adds what is new since the last look and records that look in the same statement, so a
 * pass may be repeated, or be interrupted anywhere. Events of a listing before its first look count nothing:
 * an import trends nowhere.
 */
import { toHalfLives } from '../../../engine/rules/boards.ts';
import { type IncarnationRange, runInRanges, type StepOptions } from '../../history/steps.ts';
import type { Fragment, Queryable, Sql, Transaction } from '../../sql/client.ts';
import { dayMs } from './scores.ts';

/** Looks at all listings. Rejects when the signal aborts. */
export const lookAtListings = (sql: Sql, atMs: number, options: StepOptions): Promise<unknown> =>
  runInRanges(sql, options, (range) =>
    sql.begin(async (transaction) => {
      await rememberNew(transaction, atMs, range);
      await addEvents(transaction, atMs, range);
    }),
  );

const rememberNew = (
  transaction: Transaction,
  atMs: number,
  { after, upto }: IncarnationRange,
): Promise<unknown> => transaction`
  insert into board_listings (incarnation, unique_clicks, upvotes, downvotes, votes_logged,
    days_at, clicks_days, servers_days)
  select incarnation, unique_clicks, upvotes, downvotes, votes_logged,
    ${Math.floor(atMs / dayMs)}, array[unique_clicks], array[servers::float8]
  from totals
  where incarnation > ${after}::bigint and incarnation <= ${upto}::bigint and kind in ('bot', 'server')
    and not exists (select from board_listings as known where known.incarnation = totals.incarnation)
  on conflict do nothing`;

/** Upvote and downvote weigh more than a click; a sum below 0 counts as none. */
const weights = { click: 1, upvote: 5, downvote: -2 } as const;

/**
 * Upvotes or downvotes since the last look. After a reset they begin at 0 again, and a void takes some away:
 * so never more than the votes that the log numbered since. In the one interval in which a reset arrives, new
 * upvotes may be taken for downvotes and the other way round.
 */
const buildNewVotes = (sql: Queryable, column: 'upvotes' | 'downvotes'): Fragment => {
  const [now, before] = [sql(`totals.${column}`), sql(`seen.${column}`)];
  return sql`least(greatest(0, totals.votes_logged - seen.votes_logged),
    case when ${now} >= ${before} then ${now} - ${before} else ${now} end)`;
};

/** Builds two to the power of a number that is at most 0; without the guard SQL refuses results near 0. */
const buildPower = (sql: Queryable, exponent: Fragment): Fragment =>
  sql`power(2::float8, greatest(${exponent}, -1000::float8))`;

const buildHeat = (sql: Queryable, atMs: number): Fragment => {
  const now = sql`${toHalfLives(atMs)}::float8`;
  const larger = sql`greatest(listing.heat, ${now})`;
  return sql`case
    when weight <= 0 then listing.heat
    when listing.heat is null then ${now} + ln(weight::float8) / ln(2::float8)
    else ${larger} + ln(
      ${buildPower(sql, sql`listing.heat - ${larger}`)}
      + weight * ${buildPower(sql, sql`${now} - ${larger}`)}) / ln(2::float8) end`;
};

/** Builds the values by day, the present one first. Days without a look get the newest value before them. */
const buildDays = (sql: Queryable, value: Fragment, days: Fragment): Fragment => sql`
  case when passed = 0 then ${days}
    else (${value} || array_fill((${days})[1], array[least(passed, 8) - 1]) || ${days})[1:8] end`;

const addEvents = async (
  transaction: Transaction,
  atMs: number,
  { after, upto }: IncarnationRange,
): Promise<void> => {
  const day = Math.floor(atMs / dayMs);
  await transaction`
    update board_listings as listing set
      unique_clicks = new.unique_clicks, upvotes = new.upvotes, downvotes = new.downvotes,
      votes_logged = new.votes_logged, heat = ${buildHeat(transaction, atMs)},
      days_at = days_at + passed,
      clicks_days = ${buildDays(transaction, transaction`new.unique_clicks`, transaction`clicks_days`)},
      servers_days = ${buildDays(transaction, transaction`new.servers`, transaction`servers_days`)}
    from (
      select incarnation, totals.unique_clicks, totals.upvotes, totals.downvotes, totals.votes_logged,
        totals.servers::float8 as servers, passed,
        greatest(0, totals.unique_clicks - seen.unique_clicks) * ${weights.click}
          + ${buildNewVotes(transaction, 'upvotes')} * ${weights.upvote}
          + ${buildNewVotes(transaction, 'downvotes')} * ${weights.downvote} as weight
      from totals join board_listings as seen using (incarnation)
      cross join lateral (select case when (totals.unique_clicks, totals.servers::float8)
        is distinct from (seen.clicks_days[1], seen.servers_days[1])
        then greatest(0, ${day}::integer - seen.days_at) else 0 end as passed) as days
      where incarnation > ${after}::bigint and incarnation <= ${upto}::bigint and (passed > 0
        or (totals.unique_clicks, totals.upvotes, totals.downvotes, totals.votes_logged)
          is distinct from (seen.unique_clicks, seen.upvotes, seen.downvotes, seen.votes_logged))
    ) as new
    where listing.incarnation = new.incarnation`;
};

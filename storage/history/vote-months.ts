/**
 * Archives the votes of each month by listing: how many were cast, by how many voters, and the rank.
 *
 * Counts rows of `votes`, which are never deleted and say when they were cast, so the monthly resets do not
 * matter. A month is archived once it has ended, and again a day later for votes that were flushed late;
 * repeating it replaces the numbers.
 */
import type { EntityRef } from '../../engine/ids.ts';
import type { Queryable, Sql, Transaction } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { runInSteps, type StepOptions, type StepRange, type StepResult } from './steps.ts';

export interface VoteMonth {
  /** Such as `2026-03`. */
  readonly month: string;
  readonly upvotes: number;
  readonly downvotes: number;
  readonly voters: number;
  readonly redeemed: number;
  readonly voided: number;
  /** By upvotes minus downvotes among listings of the same kind; `null` until all are counted. */
  readonly rank: number | null;
}

/** Reads the newest months of a listing that have votes, the newest first. */
export const readVoteMonths = (
  sql: Queryable,
  { incarnation }: EntityRef,
  limit: number,
): Promise<readonly VoteMonth[]> =>
  sql<VoteMonth[]>`
    select to_char(month, 'YYYY-MM') as month, upvotes, downvotes, voters, redeemed, voided, rank
    from vote_months where incarnation = ${incarnation} order by vote_months.month desc limit ${limit}`;

interface Month {
  /** The first of the month and of the next one, at 00:00 UTC. */
  readonly start: Date;
  readonly end: Date;
}

/** Late votes reach SQL within this after their month, ms. */
const lateMsMax = 86_400_000;

/** Archives the months that have ended by `nowMs` and are not archived, or may have got late votes since. */
export const writeVoteMonths = async (sql: Sql, nowMs: number, options: StepOptions): Promise<void> => {
  for (const start of await asStorage('history.unarchived', () => listUnarchived(sql))) {
    const end = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1));
    if (end.getTime() > nowMs) return;
    await archiveMonth(sql, { start, end }, options);
    await asStorage('history.archived', () => noteArchived(sql, start, nowMs >= end.getTime() + lateMsMax));
  }
};

/** Lists the first days of the months that have a partition of `votes` and no final numbers, ascending. */
const listUnarchived = async (sql: Queryable): Promise<readonly Date[]> => {
  const rows = await sql<{ month: string }[]>`
    select month from (
      select replace(substr(relname, 7), '_', '-') || '-01' as month
      from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'votes'::regclass and relname ~ '^votes_[0-9]{4}_[0-9]{2}$'
    ) as partition
    where not exists (select from vote_months_archived as archived
      where final and archived.month = partition.month::date)
    order by month`;
  return rows.map(({ month }) => new Date(month));
};

const noteArchived = (sql: Queryable, month: Date, final: boolean): Promise<unknown> => sql`
  insert into vote_months_archived (month, final) values (${formatDay(month)}, ${final})
  on conflict (month) do update set final = excluded.final`;

const formatDay = (date: Date): string => date.toISOString().slice(0, 10);

const archiveMonth = async (sql: Sql, month: Month, options: StepOptions): Promise<void> => {
  const step = async (transaction: Transaction, range: StepRange): Promise<StepResult> => {
    // One listing may have any number of votes; the statement holds no lock that others need.
    await transaction`set local statement_timeout = 0`;
    return archiveStep(transaction, month, range);
  };
  await runInSteps(options, 0, (range) => sql.begin((transaction) => step(transaction, range)));
  for (const kind of ['bot', 'server', 'team', 'pack']) await rankMonth(sql, { ...month, kind }, options);
};

/** Counts the votes of some listings and stores the sums, except those of deleted listings. */
const archiveStep = async (transaction: Transaction, { start, end }: Month, { after, limit }: StepRange) => {
  const [row] = await transaction<{ upto: number | null; listings: number }[]>`
    with operator as (
      select scope, max(at) as at from vote_resets
      where reason = 'operator' and at > ${start} and at <= ${end} group by scope
    ), counted as materialized (
      select incarnation, count(*) filter (where upvote) as upvotes,
        count(*) filter (where not upvote) as downvotes, count(distinct author) as voters,
        count(*) filter (where void and void_reason = 'redeemed') as redeemed,
        count(*) filter (where ${isVoided(transaction)}) as voided,
        coalesce(sum(case when upvote then 1 else -1 end)
          filter (where not (${isVoided(transaction)})), 0) as net
      from votes left join operator on operator.scope = votes.incarnation::text
      where created_at >= ${start} and created_at < ${end} and incarnation > ${after}::bigint
      group by incarnation order by incarnation limit ${limit}
    ), written as (
      insert into vote_months
        (incarnation, month, kind, upvotes, downvotes, voters, redeemed, voided, net)
      select incarnation, ${formatDay(start)}::date, totals.kind, counted.upvotes, counted.downvotes,
        voters, redeemed, voided, net
      from counted join totals using (incarnation)
      on conflict (incarnation, month) do update set upvotes = excluded.upvotes,
        downvotes = excluded.downvotes, voters = excluded.voters, redeemed = excluded.redeemed,
        voided = excluded.voided, net = excluded.net
    )
    select max(incarnation) as upto, count(*) as listings from counted`;
  const { upto = null, listings = 0 } = row ?? {};
  return { position: upto ?? after, isLast: listings < limit };
};

/**
 * Builds the condition that the operator voided a vote: by itself, or by a reset of its listing or of all
 * within the month. Resets spare immutable votes.
 */
const isVoided = (sql: Queryable) => sql`
  case when void then void_reason = 'operator' else not immutable and created_at < coalesce(
    greatest(operator.at, (select at from operator where scope = 'all')), '-infinity') end`;

/** Gives equal ranks for equal numbers, as in 1, 2, 2, 4. Walks along the order in steps. */
const rankMonth = async (sql: Sql, month: Month & { readonly kind: string }, options: StepOptions) => {
  let last: Ranked = { net: null, incarnation: 0, position: 0, rank: 0 };
  await runInSteps(options, 0, async ({ limit }) => {
    const step = await rankStep(sql, month, { last, limit });
    last = step.last ?? last;
    return { position: last.position, isLast: step.rows < limit };
  });
};

/** The listing that a step ended with. */
interface Ranked {
  readonly net: number | null;
  readonly incarnation: number;
  readonly position: number;
  readonly rank: number;
}

const rankStep = async (
  sql: Queryable,
  { start, kind }: Month & { readonly kind: string },
  { last, limit }: { last: Ranked; limit: number },
): Promise<{ readonly last: Ranked | null; readonly rows: number }> => {
  const [row] = await sql<{ last: Ranked | null; rows: number }[]>`
    with page as (
      select incarnation, net, ${last.position}::bigint + row_number() over (order by net desc, incarnation)
        as position
      from vote_months where month = ${formatDay(start)}::date and kind = ${kind}
        and (${last.net}::bigint is null or net < ${last.net}::bigint
          or net = ${last.net}::bigint and incarnation > ${last.incarnation})
      order by net desc, incarnation limit ${limit}
    ), ranked as materialized (
      select *, case when net = ${last.net}::bigint then ${last.rank}::bigint
        else min(position) over (partition by net) end as rank
      from page
    ), written as (
      update vote_months set rank = ranked.rank from ranked
      where vote_months.incarnation = ranked.incarnation and vote_months.month = ${formatDay(start)}::date
        and vote_months.rank is distinct from ranked.rank
    )
    select (select to_jsonb(ranked) from ranked order by position desc limit 1) as last,
      (select count(*) from ranked) as rows`;
  return row ?? { last: null, rows: 0 };
};

/**
 * Voters: how often a user voted on a listing, and on how many days in a row.
 *
 * Everything is computed from the rows of votes when it is read, by the SQL function `summarise_voter`, which
 * says what counts. Votes that are not flushed yet are not here: callers request a flush first.
 */
import type { EntityKind, EntityRef } from '../../../engine/ids.ts';
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import { formatTexts, type Queryable, type Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { createVoteCounts } from './vote-counts.ts';

export interface VoterFigures {
  /** Requests. */
  readonly times: number;
  /** Days in a row. */
  readonly streak: number;
  readonly longest: number;
}
export interface VoterSummary extends VoterFigures {
  /** `null` without a streak. */
  readonly streak_ends_at: Date | null;
  /** There may be older votes, which were not looked at. */
  readonly truncated: boolean;
}
export interface VotedListing extends VoterSummary {
  readonly target_type: EntityKind;
  readonly target_id: string;
  readonly voted_at: Date;
}

/** Builds a column with the figures of a row `voter` of `summarise_voter`, as JSON. */
export const buildFigures = (sql: Queryable) => sql`
  jsonb_build_object('times', voter.times, 'streak', voter.streak, 'longest', voter.longest)`;

/** Listings of one user that are looked at. */
const listingsMax = 1_000;

/**
 * Lists the listings that a user voted on, those with the newest vote first. It goes from one listing to the
 * next through the index of the author, so each costs one look at its newest vote.
 */
const listSummaries = async (
  sql: Queryable,
  user: string,
  { page, at }: { readonly page: number; readonly at: Date },
): Promise<{ readonly count: number; readonly rows: readonly VotedListing[] }> => {
  const rows = await sql<(VotedListing & { count: number })[]>`
    with recursive listing as (
      (select target_type, target_id, incarnation, created_at from votes where author = ${user}
      order by target_type, target_id, created_at desc limit 1)
      union all
      select next.* from listing cross join lateral (
        select target_type, target_id, incarnation, created_at from votes
        where author = ${user} and (target_type, target_id) > (listing.target_type, listing.target_id)
        order by target_type, target_id, created_at desc limit 1) as next
    ), existing as materialized (
      select looked.* from (select * from listing limit ${listingsMax}) as looked
      join totals using (incarnation)
    ), page as (
      select * from existing order by created_at desc, incarnation
      limit ${perPage.userVotes} offset ${computeOffset(page, perPage.userVotes)}
    )
    select count, target_type, target_id, created_at as voted_at, summary.*
    from (select count(*) as count from existing) as counted left join page on true
    left join lateral summarise_voter(
      incarnation, target_type, target_id, ${user}, null, ${at}::timestamptz) as summary on true
    order by created_at desc, incarnation`;
  return { count: rows[0]?.count ?? 0, rows: rows.filter(({ target_id }) => target_id !== null) };
};

/** Sums up what several users did on one listing, in their order. */
const summariseMany = (
  sql: Queryable,
  { users, ref }: { readonly users: readonly string[]; readonly ref: EntityRef },
  at: Date,
): Promise<readonly VoterSummary[]> => sql<VoterSummary[]>`
  select summary.* from unnest((select ${formatTexts(users)}::text[])) with ordinality as voter (id, position)
  cross join lateral summarise_voter(
    ${ref.incarnation}::bigint, ${ref.kind}, ${ref.id}, voter.id, null, ${at}::timestamptz) as summary
  order by position`;

export const createVoters = (sql: Sql) => ({
  ...bindStorage('voters', sql, {
    summaries: listSummaries,
    summariesOn: summariseMany,
  }),
  counts: createVoteCounts(sql),
});

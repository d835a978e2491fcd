/**
 * The operator's list of votes, void ones too: those of a listing, of a user, or of a time.
 *
 * The view `vote_rows` decides which votes are void; it is evaluated only for the votes of the page. Votes
 * are missing until they are flushed. Read only.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import type { Fragment, Queryable, Sql } from '../../sql/client.ts';
import type { VoteRow } from '../votes/votes.ts';
import { buildPage, type ListPage, readWithTotal } from './pages.ts';

/** Only votes that match all that is given. */
export interface VoteFilter {
  readonly kind?: EntityKind | undefined;
  readonly id?: string | undefined;
  readonly user?: string | undefined;
  /** Cast at this time or later, and before that time; ISO 8601. */
  readonly since?: string | undefined;
  readonly before?: string | undefined;
}

/** As in votes.ts, the empty string keeps the planner from the target's index where a user is given. */
const buildKind = (sql: Queryable, user: string | undefined): Fragment =>
  user === undefined ? sql`target_type` : sql`target_type || ''`;

/** Builds the condition on `votes`, or on a view of them. */
export const buildVoteFilter = (
  sql: Queryable,
  { kind, id, user, since, before }: VoteFilter,
): Fragment => sql`
  where true
  ${kind === undefined ? sql`` : sql`and ${buildKind(sql, user)} = ${kind}`}
  ${id === undefined ? sql`` : sql`and target_id = ${id}`}
  ${user === undefined ? sql`` : sql`and author = ${user}`}
  ${since === undefined ? sql`` : sql`and created_at >= ${since}::timestamptz`}
  ${before === undefined ? sql`` : sql`and created_at < ${before}::timestamptz`}`;

/** Reads a page, newest first; pages count from 1. */
export const listVotesOf = (sql: Sql, filter: VoteFilter, page: number): Promise<ListPage<VoteRow>> => {
  const where = buildVoteFilter(sql, filter);
  const rows = sql<VoteRow[]>`
    select votes.* from (
      select itag, created_at from votes ${where} order by created_at desc, itag ${buildPage(sql, page)}
    ) as page cross join lateral (
      select * from vote_rows as votes
      where votes.itag = page.itag and votes.created_at = page.created_at offset 0) as votes
    order by votes.created_at desc, votes.itag`;
  return readWithTotal(sql, { table: 'votes', where }, rows);
};

/**
 * Past votes in SQL: a user's votes on an entity, and the whole list of voters (its pages: voter-order.ts).
 *
 * Only the view `vote_rows` decides whether a vote is void. Votes that are not flushed yet are not here:
 * callers request a flush first. Validity is judged within one incarnation of a listing: votes for a deleted
 * entity never come back.
 */

import type { EntityKind, EntityRef } from '../../../engine/ids.ts';
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import { createSemaphore, type Semaphore } from '../../../engine/tools/semaphore.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { readNumber } from '../../sql/rows.ts';
import { createVoterOrders } from './voter-order.ts';

export interface VoteRow {
  readonly author: string;
  readonly created_at: Date;
  readonly credit_redeem: string | null;
  readonly immutable: boolean;
  readonly itag: string;
  readonly target_id: string;
  readonly target_type: EntityKind;
  readonly upvote: boolean;
  readonly void: boolean;
  readonly void_reason: string;
  readonly vote_num: number;
  readonly voided_at: Date | null;
}
/** A user and an entity they may have voted on. */
export interface VotePair {
  readonly user: string;
  readonly ref: EntityRef;
}

/** Most valid votes of one user on one entity in a reply. Reached only after years without a reset. */
const validVotesMax = 2_000;
/** Voters read by one statement while the whole list is streamed. */
const votersPerStep = 1_000;
/** Concurrent statements of this kind, over all lists that are being streamed. */
const voterStepsAtOnceMax = 2;

/**
 * The empty string keeps a planner without statistics from the target's index: a target has far more votes.
 */
const buildPairCondition = (sql: Queryable, pair: VotePair) => sql`
  votes.author = ${pair.user} and votes.target_type || '' = ${pair.ref.kind}
  and votes.target_id = ${pair.ref.id}`;

const buildVoteColumns = (sql: Queryable) => sql`
  votes.author, votes.created_at, votes.credit_redeem, votes.immutable, votes.itag, votes.target_id,
  votes.target_type, votes.upvote, votes.void, votes.void_reason, votes.vote_num, votes.voided_at`;

/** Lists the valid votes of one user on one entity, newest first. */
const listValidVotes = (sql: Queryable, pair: VotePair): Promise<readonly VoteRow[]> => sql<VoteRow[]>`
  select ${buildVoteColumns(sql)} from vote_rows as votes
  where ${buildPairCondition(sql, pair)} and not votes.void and votes.incarnation = ${pair.ref.incarnation}
  order by votes.created_at desc, votes.vote_num desc, votes.itag limit ${validVotesMax}`;

/**
 * Lists one page of all votes of one user on one entity, also void ones, newest first. Only the rows of the
 * page are looked up in the view; `offset 0` keeps the planner from joining the view with all of the user's
 * votes.
 */
export const listVotes = (sql: Queryable, pair: VotePair, page: number): Promise<readonly VoteRow[]> =>
  sql<VoteRow[]>`
    select votes.* from (
      select votes.itag, votes.created_at from votes where ${buildPairCondition(sql, pair)}
      order by votes.created_at desc, votes.vote_num desc, votes.itag
      limit ${perPage.userVotes} offset ${computeOffset(page, perPage.userVotes)}) as page
    cross join lateral (
      select ${buildVoteColumns(sql)} from vote_rows as votes
      where votes.itag = page.itag and votes.created_at = page.created_at
      offset 0) as votes
    order by votes.created_at desc, votes.vote_num desc, votes.itag`;

/** Counts all votes of one user on one entity, also void ones. */
const countVotes = (sql: Queryable, pair: VotePair): Promise<number> =>
  readNumber(sql`select count(*) from votes where ${buildPairCondition(sql, pair)}`);

interface VoterRow {
  readonly author: string;
  /** Text, because a Date cuts off microseconds and would repeat or skip rows between two steps. */
  readonly cursor_at: string;
  readonly itag: string;
}
type VoterCursor = Pick<VoterRow, 'cursor_at' | 'itag'>;

interface VoterRange {
  /** The newest vote when the stream began; later votes are ignored. */
  readonly top: VoterCursor | null;
  /** The last row of the previous step. */
  readonly after: VoterCursor | null;
  readonly limit: number;
}

const buildCursor = (sql: Queryable, cursor: VoterCursor) =>
  sql`(${cursor.cursor_at}::text::timestamptz, ${cursor.itag}::uuid)`;

/**
 * Selects the authors of valid votes, ordered by their newest vote. It finds each row by the index on the
 * target and checks it by the index on the author, so a step costs its own rows only. The statement forces
 * that plan: without statistics, or with a generic plan, every voter would be compared with all others.
 * `offset 0` keeps the check from becoming a join, and the empty string keeps it from using the target's
 * index.
 */
const selectVoters = (sql: Queryable, ref: EntityRef, range: VoterRange) => sql<VoterRow[]>`
  select votes.author, votes.created_at::text as cursor_at, votes.itag from vote_rows as votes
  where votes.target_type = ${ref.kind} and votes.target_id = ${ref.id}
    and votes.incarnation = ${ref.incarnation} and not votes.void
    ${range.after ? sql`and (votes.created_at, votes.itag) < ${buildCursor(sql, range.after)}` : sql``}
    and not exists (
      select from vote_rows as newer
      where newer.author = votes.author and newer.target_type || '' = votes.target_type
        and newer.target_id = votes.target_id and newer.incarnation = votes.incarnation
        and (newer.created_at, newer.itag) > (votes.created_at, votes.itag)
        ${range.top ? sql`and (newer.created_at, newer.itag) <= ${buildCursor(sql, range.top)}` : sql``}
        and not newer.void
      offset 0)
  order by votes.created_at desc, votes.itag desc limit ${range.limit}`;

/**
 * Streams all voters in steps. Each step is a short statement of its own, so a slow reader occupies nothing
 * in the database. The semaphore bounds concurrent steps, so that many streams leave room for other
 * statements. A voter who votes again meanwhile keeps their position.
 */
async function* streamVoters(
  sql: Queryable,
  ref: EntityRef,
  semaphore: Semaphore,
): AsyncGenerator<readonly string[]> {
  let top: VoterCursor | null = null;
  let after: VoterCursor | null = null;
  for (;;) {
    const range: VoterRange = { top, after, limit: votersPerStep };
    const rows: readonly VoterRow[] = await semaphore(() =>
      asStorage('votes.eachVoters', () => selectVoters(sql, ref, range)),
    );
    if (rows.length > 0) yield rows.map((row) => row.author);
    if (rows.length < votersPerStep) return;
    top ??= rows[0] as VoterCursor;
    after = rows.at(-1) as VoterCursor;
  }
}

const readPage = async (sql: Queryable, pair: VotePair, page: number) => {
  const count = await countVotes(sql, pair);
  const isPastEnd = computeOffset(page, perPage.userVotes) >= count;
  return { count, rows: isPastEnd ? [] : await listVotes(sql, pair, page) };
};

export const createVotes = (sql: Sql) => {
  const semaphore = createSemaphore(voterStepsAtOnceMax);
  const orders = createVoterOrders(sql);
  return {
    ...bindStorage('votes', sql, { valid: listValidVotes, page: readPage }),
    voters: (ref: EntityRef, page: number) => asStorage('votes.voters', () => orders.page(ref, page)),
    eachVoters: (ref: EntityRef) => streamVoters(sql, ref, semaphore),
  };
};

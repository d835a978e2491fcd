/**
 * The order of one entity's voters in SQL: `voters`, and the counted segments it is cut into (migration 008).
 *
 * Only `recount` writes it, one at a time per entity. In one statement it consumes the changes that triggers
 * recorded, finds where each of those voters belongs now, and counts the difference into the segments. An
 * order is rebuilt when it is new, or when a reset has made its votes void.
 */
import type { EntityRef } from '../../../engine/ids.ts';
import { perPage } from '../../../engine/rules/pages.ts';
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { readColumn } from '../../sql/rows.ts';
import { balanceSegments, countSteps, type Segments } from '../shared/segments.ts';

/** Voters of a new segment; a segment with twice as many is cut. */
export const segmentVotersUsual = 1_000;
/** Statement timeout of a recount: building an order of a million voters takes seconds. */
const recountMsMax = 120_000;
/** Recounts between vacuums: counted changes leave dead rows, which slow reads down. */
const vacuumRecounts = 500;

/** Bounds below and above every itag. */
const itagMin = '00000000-0000-0000-0000-000000000000';
const itagMax = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Builds the time of the listing's last reset; a deleted listing has a reset at infinity. */
const buildLastReset = (sql: Queryable, ref: EntityRef) => sql`(
  select coalesce(max(at), '-infinity') from vote_resets where scope in ('all', ${String(ref.incarnation)}))`;

/**
 * Builds a query of the listing's votes since its last reset, and of older immutable ones. A vote that is
 * valid in the view `vote_rows` has `void` false here; any other is missing or has `void` true.
 */
export const buildLiveVotes = (sql: Queryable, ref: EntityRef, lastReset = buildLastReset(sql, ref)) => sql`
  select author, created_at, itag, upvote, vote_num, void from votes
  where target_type = ${ref.kind} and target_id = ${ref.id} and incarnation = ${ref.incarnation}
    and created_at >= ${lastReset}
  union all
  select author, created_at, itag, upvote, vote_num, void from votes
  where incarnation = ${ref.incarnation} and immutable
    and created_at < ${lastReset} and ${lastReset} < 'infinity'`;

/** Reads a page of voters from position `offset` on, newest first: it sums segments and walks into one. */
export const readPositions = (
  sql: Queryable,
  { incarnation }: EntityRef,
  offset: number,
): Promise<readonly string[]> =>
  readColumn<string>(sql`
    with sums as (
      select entries, (sum(entries) over newest_first)::bigint as upto,
        coalesce(lag(low_at) over newest_first, 'infinity'::timestamptz) as high_at,
        coalesce(lag(low_itag) over newest_first, ${itagMax}::uuid) as high_itag
      from voter_segments where incarnation = ${incarnation}
      window newest_first as (order by low_at desc, low_itag desc rows unbounded preceding)),
    segment as (
      select high_at, high_itag, ${offset}::bigint - (upto - entries) as skipped from sums
      where upto > ${offset}::bigint and upto - entries <= ${offset}::bigint limit 1)
    select place.author from segment cross join lateral (
      select author, at, itag from voters
      where incarnation = ${incarnation} and (at, itag) < (segment.high_at, segment.high_itag)
      order by at desc, itag desc offset segment.skipped limit ${perPage.voters}) as place
    order by place.at desc, place.itag desc`);

export interface VoterRecounter {
  readonly sql: Sql;
  readonly segmentVoters: number;
}

/** Counts in all changes recorded before the call; ledger when it resolves. False when there is no order. */
export const recount = async ({ sql, segmentVoters }: VoterRecounter, ref: EntityRef): Promise<boolean> => {
  const segments = describeSegments(ref, segmentVoters);
  const recounts = (await sql.begin(async (transaction): Promise<number> => {
    await transaction`select set_config('statement_timeout', ${String(recountMsMax)}, true)`;
    const [order] = await transaction<{ recounts: number; rebuild: boolean }[]>`
      select recounts, recounts = 0 or exists (
        select from voter_changes where incarnation = ${ref.incarnation} and author = '') as rebuild
      from voter_orders where incarnation = ${ref.incarnation} for no key update`;
    if (order === undefined) return 0;
    if (order.rebuild) await rebuildOrder(transaction, ref, segments);
    else await moveChanged(transaction, ref, segments);
    await balanceSegments(transaction, segments);
    await transaction`
      update voter_orders set recounts = recounts + 1 where incarnation = ${ref.incarnation}`;
    return order.recounts + 1;
  })) as number;
  if (recounts % vacuumRecounts === 1) await sql`vacuum (skip_locked) voter_changes, voter_segments`;
  return recounts > 0;
};

const describeSegments = ({ incarnation }: EntityRef, size: number): Segments => ({
  table: 'voter_segments',
  owner: 'incarnation',
  order: incarnation,
  low: 'low_itag',
  rows: (sql) => sql`select at, itag as id from voters where incarnation = ${incarnation}`,
  size,
});

/**
 * Builds the order from all votes, with one segment that counts as too long. The next recount handles
 * changes recorded after the first statement.
 */
const rebuildOrder = async (transaction: Transaction, ref: EntityRef, { size }: Segments) => {
  const { incarnation } = ref;
  await transaction`delete from voter_changes where incarnation = ${incarnation}`;
  await transaction`delete from voters where incarnation = ${incarnation}`;
  await transaction`delete from voter_segments where incarnation = ${incarnation}`;
  await transaction`
    insert into voters (incarnation, author, at, itag)
    select distinct on (author) ${incarnation}::bigint, author, created_at, itag
    from (${buildLiveVotes(transaction, ref)}) as live where not void
    order by author, created_at desc, itag desc`;
  await transaction`
    insert into voter_segments (incarnation, low_at, low_itag, entries)
    values (${incarnation}, '-infinity', ${itagMin}, ${2 * size})`;
};

/** Takes the recorded voters and deletes the records. A reset recorded since is left to the next recount. */
const takeChanged = (sql: Queryable, { incarnation }: EntityRef) => sql`
    recorded as (
      delete from voter_changes where incarnation = ${incarnation} and author <> '' returning author),
    changed as materialized (select distinct author from recorded)`;

/**
 * Finds the newest live vote of each changed voter, null if there is none. The empty string at the votes'
 * target keeps a planner without statistics from using the target's index: a target has far more votes than
 * an author.
 */
const findNewest = (sql: Queryable, ref: EntityRef) => sql`
    newest as materialized (
      select changed.author, vote.created_at as at, vote.itag
      from changed left join lateral (
        select created_at, itag from votes
        where votes.author = changed.author and votes.target_type || '' = ${ref.kind}
          and votes.target_id = ${ref.id} and votes.incarnation = ${ref.incarnation} and not votes.void
          and (votes.immutable or votes.created_at >= ${buildLastReset(sql, ref)})
          and ${buildLastReset(sql, ref)} < 'infinity'
        order by created_at desc, itag desc limit 1) as vote on true)`;

/** Finds where the changed voters stood; all parts of the statement see the rows from before it. */
const findFormer = (sql: Queryable, { incarnation }: EntityRef) => sql`
    former as materialized (
      select voters.at, voters.itag from changed
      join voters on voters.incarnation = ${incarnation} and voters.author = changed.author)`;

/**
 * Moves the changed voters to their newest vote and counts the moves in, in one statement: a segment loses
 * one where a voter stood, and gains one where the voter stands.
 */
const moveChanged = async (transaction: Transaction, ref: EntityRef, segments: Segments): Promise<void> => {
  const { incarnation } = ref;
  await transaction`
    with ${takeChanged(transaction, ref)}, ${findNewest(transaction, ref)}, ${findFormer(transaction, ref)},
    steps as (
      select at, itag as id, -1 as step from former
      union all select at, itag, 1 from newest where at is not null),
    ${countSteps(transaction, segments)},
    gone as (
      delete from voters using newest
      where voters.incarnation = ${incarnation} and voters.author = newest.author and newest.at is null)
    insert into voters (incarnation, author, at, itag)
    select ${incarnation}::bigint, author, at, itag from newest where at is not null
    on conflict (incarnation, author) do update set at = excluded.at, itag = excluded.itag
      where (voters.at, voters.itag) <> (excluded.at, excluded.itag)`;
};

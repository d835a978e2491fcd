/**
 * Makes editions of boards in SQL, and reads them.
 *
 * An edition is one row, written by one statement from one snapshot, so readers never see half of it. An
 * older edition never replaces a newer one, and making the same one twice changes nothing. Order: score, then
 * the place in the edition before, then age of the listing.
 */
import { type Edition, type Place, placesMax, type RankedKind } from '../../../engine/rules/boards.ts';
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import type { Fragment } from '../shared/index-rows.ts';
import { buildListed, buildScored, type DueBoard, dayMs, type ScoredBoard } from './scores.ts';

/** Rows of the table of counts: a rank is right within one part in so many. */
const countsMax = 1_000;
/** A whole board of a large directory takes longer than the pool allows for a request. */
const statementMsMax = 120_000;
const sortMemory = '64MB';

/**
 * Runs a statement about all listings. Their tables are mostly in the order of `incarnation`, so that merging
 * them costs a third less than the hash joins that the planner prefers.
 */
const withRoom = <Result>(sql: Sql, task: (transaction: Transaction) => Promise<Result>): Promise<Result> =>
  sql.begin(async (transaction) => {
    await transaction`select set_config('statement_timeout', ${String(statementMsMax)}, true),
      set_config('work_mem', ${sortMemory}, true), set_config('enable_hashjoin', 'off', true)`;
    return task(transaction);
  }) as Promise<Result>;

/** The places of the edition before. */
const buildEarlier = (sql: Queryable, { board, kind }: DueBoard): Fragment => sql`
  select incarnation, place from board_editions
  cross join lateral unnest(incarnations) with ordinality as places (incarnation, place)
  where board = ${board} and kind = ${kind}`;

/** Writes the first places of `scored`, which must be a CTE of the statement, as must `earlier`. */
const buildPlaces = (sql: Queryable, { board, kind, atMs }: DueBoard): Fragment => sql`
  insert into board_editions as old (board, kind, edition, incarnations, scores, ratios, day)
  select ${board}, ${kind}, ${atMs},
    coalesce(array_agg(incarnation order by score desc, place, incarnation), '{}'),
    coalesce(array_agg(score order by score desc, place, incarnation), '{}'),
    coalesce(array_agg(ratio order by score desc, place, incarnation), '{}'),
    ${Math.floor(atMs / dayMs)}
  from (
    select incarnation, score, ratio, place from scored left join earlier using (incarnation)
    order by score desc, place, incarnation limit ${placesMax}) as top
  on conflict (board, kind) do update set
    edition = excluded.edition, made_at = now(), incarnations = excluded.incarnations,
    scores = excluded.scores, ratios = excluded.ratios, day = excluded.day,
    former = case when old.day < excluded.day then old.incarnations else old.former end
  where old.edition < excluded.edition`;

/** Writes the counts of `scored`: each score at which the share of listings above passes another step. */
const buildCounts = (sql: Queryable, { board, kind, atMs }: DueBoard): Fragment => sql`
  insert into board_counts as old (board, kind, edition, listings, scores, above)
  select ${board}, ${kind}, ${atMs}, coalesce(max(total), 0),
    coalesce(array_agg(score order by score desc), '{}'),
    coalesce(array_agg(upto - listings order by score desc), '{}')
  from (
    select score, listings, sum(listings) over (order by score desc) as upto, sum(listings) over () as total
    from (select score, count(*) as listings from scored group by score) as equal) as summed
  where upto * ${countsMax} / total > (upto - listings) * ${countsMax} / total
  on conflict (board, kind) do update set
    edition = excluded.edition, listings = excluded.listings, scores = excluded.scores, above = excluded.above
  where old.edition < excluded.edition`;

/** Makes an edition of the whole board from all its listings. */
export const makeEdition = (sql: Sql, scored: ScoredBoard): Promise<void> =>
  withRoom(sql, async (transaction) => {
    await transaction`
      with earlier as (${buildEarlier(transaction, scored)}),
        scored as materialized (${buildScored(transaction, scored)}),
        placed as (${buildPlaces(transaction, scored)})
      ${buildCounts(transaction, scored)}`;
  });

/** Counts the listings of a board whose places are made more often. */
export const countBoard = (sql: Sql, scored: ScoredBoard): Promise<void> =>
  withRoom(sql, async (transaction) => {
    await transaction`
      with scored as materialized (${buildScored(transaction, scored)})
      ${buildCounts(transaction, scored)}`;
  });

/** Whether a listing is listed; one look-up per row of totals, never a sort of all. */
const buildIsListed = (sql: Queryable, kind: RankedKind): Fragment => sql`
  cross join lateral (select from ${buildListed(sql, kind)} as one
    where one.incarnation = totals.incarnation offset 0) as listed`;

/**
 * Makes the places of the board `votes` along the index on totals, at the same cost in any directory. Only
 * the first by votes and age, and those with a place before, can get one, since equal ones keep theirs.
 */
export const makeVotesEdition = async (sql: Sql, kind: RankedKind, atMs: number): Promise<void> => {
  const scored: DueBoard = { board: 'votes', kind, atMs };
  const listed = buildIsListed(sql, kind);
  await sql`
    with earlier as (${buildEarlier(sql, scored)}),
      scored as (
        (select totals.incarnation, votes::float8 as score, null::float8 as ratio from totals ${listed}
          where totals.kind = ${kind} and votes > 0
          order by totals.votes desc, totals.incarnation limit ${placesMax})
        union
        select totals.incarnation, votes::float8, null::float8 from earlier join totals using (incarnation)
          ${listed} where votes > 0)
    ${buildPlaces(sql, scored)}`;
};

/** Which editions a board has: 0 where there is none. */
export interface EditionHead {
  readonly board: string;
  readonly kind: string;
  readonly places: number;
  readonly counts: number;
}

/** Reads the numbers of all editions. */
export const readHeads = (sql: Queryable): Promise<readonly EditionHead[]> => sql<EditionHead[]>`
  select board, kind, board_editions.edition as places, coalesce(board_counts.edition, 0) as counts
  from board_editions left join board_counts using (board, kind)`;

interface EditionRow {
  readonly edition: number;
  readonly made_at: Date;
  readonly incarnations: readonly number[];
  readonly scores: readonly number[];
  readonly ratios: readonly (number | null)[];
  readonly former: readonly number[];
  readonly listings: number | null;
  readonly count_scores: readonly number[] | null;
  readonly above: readonly number[] | null;
}

/** Reads one edition; `null` when there is none. */
export const readEdition = async (
  sql: Queryable,
  { board, kind }: Pick<DueBoard, 'board' | 'kind'>,
): Promise<Edition | null> => {
  const [row] = await sql<EditionRow[]>`
    select places.edition, places.made_at, places.incarnations, places.scores, places.ratios, places.former,
      counts.listings, counts.scores as count_scores, counts.above
    from board_editions as places left join board_counts as counts using (board, kind)
    where board = ${board} and kind = ${kind}`;
  return row === undefined ? null : toEdition(row);
};

const toEdition = (row: EditionRow): Edition => {
  const former = new Map(row.former.map((incarnation, place) => [incarnation, place]));
  const toChange = (incarnation: number, place: number): number | null => {
    const before = former.get(incarnation);
    return before === undefined ? null : before - place;
  };
  const places = row.incarnations.map(
    (incarnation, place): Place => ({
      incarnation,
      score: row.scores[place] as number,
      ratio: row.ratios[place] ?? null,
      change: toChange(incarnation, place),
    }),
  );
  return {
    number: row.edition,
    madeAtMs: row.made_at.getTime(),
    places,
    index: new Map(row.incarnations.map((incarnation, place) => [incarnation, place])),
    counts: { listings: row.listings ?? 0, scores: row.count_scores ?? [], above: row.above ?? [] },
  };
};

/**
 * Makes editions of boards in SQL, and reads them.
 *
 * An edition is one row, written by one statement, so readers never see half of it; scores are read some
 * thousand at a time, so they are some seconds apart in a large directory. An older edition never replaces a
 * newer one, and making the same one twice changes nothing. Order: score, then the place in the edition
 * before, then age of the listing.
 */
import {
  type Edition,
  type Place,
  placesMax,
  type RankedKind,
  type ScoreCounts,
} from '../../../engine/rules/boards.ts';
import { runInRanges, type StepOptions } from '../../history/steps.ts';
import { buildRows, type Fragment, formatNumbers, type Queryable, type Sql } from '../../sql/client.ts';
import { buildListed, buildScored, type DueBoard, dayMs, type Only, type ScoredBoard } from './scores.ts';
import { createTally, type Tally } from './tally.ts';

/** Builds a query of the places of the edition before. */
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

const buildCounts = (
  sql: Queryable,
  { board, kind, atMs }: DueBoard,
  { listings, scores, above }: ScoreCounts,
): Fragment => sql`
  insert into board_counts as old (board, kind, edition, listings, scores, above)
  values (${board}, ${kind}, ${atMs}, ${listings}, ${formatNumbers(scores)}::float8[],
    ${formatNumbers(above)}::bigint[])
  on conflict (board, kind) do update set
    edition = excluded.edition, listings = excluded.listings, scores = excluded.scores, above = excluded.above
  where old.edition < excluded.edition`;

interface ScoredRange {
  readonly incarnations: readonly number[] | null;
  readonly scores: readonly number[];
  readonly ratios: readonly (number | null)[];
}

/** Collects the scores of all listings. Reads them as JSON, which Node parses faster than SQL arrays. */
const tallyBoard = async (sql: Sql, scored: ScoredBoard, options: StepOptions): Promise<Tally> => {
  const earlier = await sql<{ incarnation: number }[]>`${buildEarlier(sql, scored)}`;
  const tally = createTally(new Set(earlier.map(({ incarnation }) => incarnation)));
  await runInRanges(sql, options, async ({ after, upto }) => {
    const only: Only = (column) => sql`${column} > ${after}::bigint and ${column} <= ${upto}::bigint`;
    const [range] = await sql<ScoredRange[]>`
      select to_json(array_agg(incarnation)) as incarnations, to_json(array_agg(score)) as scores,
        to_json(array_agg(ratio)) as ratios
      from (${buildScored(sql, scored, only)}) as scored`;
    const { incarnations = null, scores = [], ratios = [] } = range ?? {};
    if (incarnations !== null)
      tally.add(
        incarnations.map((incarnation, index) => ({
          incarnation,
          score: scores[index] as number,
          ratio: ratios[index] ?? null,
        })),
      );
  });
  return tally;
};

/** Makes an edition of the whole board from all its listings. Rejects when the signal aborts. */
export const makeEdition = async (sql: Sql, scored: ScoredBoard, options: StepOptions): Promise<void> => {
  const tally = await tallyBoard(sql, scored, options);
  const top = tally.listCandidates();
  await sql`
    with earlier as (${buildEarlier(sql, scored)}),
      scored as (
        select * from ${buildRows(sql, top, { incarnation: 'bigint', score: 'float8', ratio: 'float8' })}
          as candidates (incarnation, score, ratio)),
      placed as (${buildPlaces(sql, scored)})
    ${buildCounts(sql, scored, tally.count())}`;
};

/** Counts the listings of a board whose places are made more often. Rejects when the signal aborts. */
export const countBoard = async (sql: Sql, scored: ScoredBoard, options: StepOptions): Promise<void> => {
  const tally = await tallyBoard(sql, scored, options);
  await sql`${buildCounts(sql, scored, tally.count())}`;
};

/** Builds a join that leaves only listed rows of `totals`: one look-up per row, never a sort of all. */
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
  const places = row.incarnations.map((incarnation, place): Place => {
    const before = former.get(incarnation);
    return {
      incarnation,
      score: row.scores[place] as number,
      ratio: row.ratios[place] ?? null,
      change: before === undefined ? null : before - place,
    };
  });
  return {
    number: row.edition,
    madeAtMs: row.made_at.getTime(),
    places,
    index: new Map(row.incarnations.map((incarnation, place) => [incarnation, place])),
    counts: { listings: row.listings ?? 0, scores: row.count_scores ?? [], above: row.above ?? [] },
  };
};

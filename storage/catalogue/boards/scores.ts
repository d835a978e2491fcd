/**
 * The score of each listing on each board, as SQL: only listed entities that qualify have one.
 *
 * An edition and the rank of one listing use the same expressions, so they agree. Scores come from totals as
 * last flushed and from what board_listings remembers.
 */
import { type BoardName, type RankedKind, toHalfLives } from '../../../engine/rules/boards.ts';
import type { Fragment, Queryable } from '../../sql/client.ts';
import { buildDowntimes, buildUptime, type CheckRules } from './uptime.ts';

export interface DueBoard {
  readonly board: BoardName;
  readonly kind: RankedKind;
  /** The time of the edition. */
  readonly atMs: number;
}
export interface ScoredBoard extends DueBoard {
  readonly checkRules: CheckRules;
}

export const dayMs = 86_400_000;
/** Uptime of fewer checks says little. */
const checksMin = 1_000;
/** Growth counts from this many servers a week ago, and from this share of them. */
const growthMin = { servers: 100, ratio: 0.05 } as const;
/** What is left of old events when a listing leaves the board: that of one click after 80 hours. */
const weightMin = 0.01;
const newcomerDays = 30;

/** Builds a query of listed entities: `incarnation`, `since`, for bots `listed_since`. An index suffices. */
export const buildListed = (sql: Queryable, kind: RankedKind): Fragment =>
  kind === 'bot'
    ? sql`(select incarnation, listed_since, coalesce(listed_since, created_at) as since
        from bots
        where type in ('approved', 'certified'))`
    : sql`(select incarnation, created_at as since from servers
        where type in ('approved', 'certified') and state = 'public')`;

interface Expressions {
  readonly score: Fragment;
  readonly qualifies: Fragment;
  readonly ratio?: Fragment;
}

/** Builds the value of the day seven days before `atMs`; null when it is not remembered. */
const buildWeekAgo = (sql: Queryable, column: 'clicks_days' | 'servers_days', atMs: number): Fragment =>
  sql`board_listings.${sql(column)}[greatest(8 - (${Math.floor(atMs / dayMs)}::integer - days_at), 1)]`;

const buildHeat = (sql: Queryable, atMs: number): Expressions => ({
  score: sql`board_listings.heat`,
  qualifies: sql`board_listings.heat >= ${toHalfLives(atMs) + Math.log2(weightMin)}::float8`,
});

const buildGrowth = (sql: Queryable, atMs: number): Expressions => {
  const before = buildWeekAgo(sql, 'servers_days', atMs);
  const added: Fragment = sql`(totals.servers::float8 - ${before})`;
  return {
    score: added,
    ratio: sql`${added} / ${before}`,
    qualifies: sql`${before} >= ${growthMin.servers}::float8
      and ${added} >= ${growthMin.ratio}::float8 * ${before}`,
  };
};

const buildClicks = (sql: Queryable, atMs: number): Expressions => {
  const oldest: Fragment = sql`board_listings.clicks_days[cardinality(board_listings.clicks_days)]`;
  const before = buildWeekAgo(sql, 'clicks_days', atMs);
  const clicks: Fragment = sql`(totals.unique_clicks - coalesce(${before}, ${oldest}))`;
  return { score: clicks, qualifies: sql`${clicks} > 0` };
};

/**
 * Until the flush after a monthly reset, totals still contain the votes that the reset ended and that
 * `votes_before` already has. `extract` would compute an exact decimal for each listing.
 */
const buildVotesEver = (sql: Queryable): Expressions => {
  const votes: Fragment = sql`(board_listings.votes_before + totals.votes - case
    when totals.released_before_ms < round(date_part('epoch', board_listings.past_until) * 1000)
    then board_listings.votes_period else 0 end)`;
  return { score: votes, qualifies: sql`${votes} > 0` };
};

const buildExpressions = (sql: Queryable, { board, atMs }: ScoredBoard): Expressions => {
  switch (board) {
    case 'votes':
      return { score: sql`totals.votes`, qualifies: sql`totals.votes > 0` };
    case 'votes-last-month':
      return { score: sql`board_listings.votes_month`, qualifies: sql`board_listings.votes_month > 0` };
    case 'votes-ever':
      return buildVotesEver(sql);
    case 'unique-clicks-week':
      return buildClicks(sql, atMs);
    case 'growth-week':
      return buildGrowth(sql, atMs);
    case 'trending':
      return buildHeat(sql, atMs);
    case 'newcomers': {
      const { score, qualifies } = buildHeat(sql, atMs);
      const newSince = new Date(atMs - newcomerDays * dayMs);
      return { score, qualifies: sql`${qualifies} and listed.since > ${newSince}` };
    }
    case 'uptime':
      return {
        score: sql`100 * checks.passed::float8 / checks.total`,
        qualifies: sql`checks.total >= ${checksMin}`,
      };
  }
};

interface Wanted extends ScoredBoard {
  readonly only: Only;
}
type Source = 'totals' | 'board_listings' | 'checks';

/** What a score is computed from. A large table that a board does not need is not read. */
const sourcesByBoard: Readonly<Record<BoardName, readonly Source[]>> = {
  votes: ['totals'],
  'votes-last-month': ['board_listings'],
  'votes-ever': ['totals', 'board_listings'],
  'unique-clicks-week': ['totals', 'board_listings'],
  'growth-week': ['totals', 'board_listings'],
  trending: ['board_listings'],
  newcomers: ['board_listings'],
  uptime: ['totals', 'checks'],
};

/** A condition on a column of incarnations: which listings are wanted. */
export type Only = (column: Fragment) => Fragment;

/** Builds the join of a table. Each has the condition: SQL infers only equality from another table. */
const joinSource = (sql: Queryable, source: Source, { kind, atMs, checkRules, only }: Wanted): Fragment => {
  switch (source) {
    case 'totals':
      return sql`join totals on totals.incarnation = listed.incarnation and totals.kind = ${kind}
        and ${only(sql`totals.incarnation`)}`;
    case 'board_listings':
      return sql`join board_listings on board_listings.incarnation = listed.incarnation
        and ${only(sql`board_listings.incarnation`)}`;
    case 'checks':
      return sql`cross join ${buildDowntimes(sql, checkRules)} as down
        cross join lateral ${buildUptime(sql, checkRules, atMs)} as checks`;
  }
};

/**
 * Builds a query with the columns `incarnation`, `score` and `ratio` of those listings that qualify and that
 * `only` allows.
 */
export const buildScored = (sql: Queryable, scored: ScoredBoard, only: Only): Fragment => {
  const { score, ratio = sql`null`, qualifies } = buildExpressions(sql, scored);
  const wanted = { ...scored, only };
  const joins = sourcesByBoard[scored.board].map((source) => joinSource(sql, source, wanted));
  return sql`
    select listed.incarnation, (${score})::float8 as score, (${ratio})::float8 as ratio
    from ${buildListed(sql, scored.kind)} as listed ${joins}
    where ${qualifies} and ${only(sql`listed.incarnation`)}`;
};

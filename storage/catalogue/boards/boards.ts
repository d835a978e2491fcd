/**
 * Leaderboards: makes editions for the job, keeps the newest ones in memory, and reads their pages and ranks.
 *
 * A page or rank costs the same in any directory: the places are in memory, and one statement reads the rows
 * of the page, or the scores of one listing, by their keys. While SQL is away readers get what was read last.
 */
import {
  type BoardName,
  boardsByKind,
  type Edition,
  findBoard,
  placesMax,
  type RankedKind,
  rankedKinds,
} from '../../../engine/rules/boards.ts';
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import type { StepOptions } from '../../history/steps.ts';
import { type Fragment, formatNumbers, type Queryable, type Sql } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { createSnapshots, type Snapshots } from '../shared/cache.ts';
import {
  type IndexBotRow,
  type IndexServerRow,
  listedTypes,
  selectIndexBots,
  selectIndexServers,
} from '../shared/index-rows.ts';
import { countBoard, makeEdition, makeVotesEdition, readEdition, readHeads } from './editions.ts';
import { lookAtListings } from './memory.ts';
import { addPastVotes } from './past-votes.ts';
import { buildScored, type Only } from './scores.ts';
import type { CheckRules } from './uptime.ts';

/** A listing of a page, in its row of lists, and its index in the edition. */
export interface PlacedRow<Row> {
  readonly row: Row;
  readonly place: number;
}
export interface BoardPage {
  readonly edition: Edition | null;
  readonly bots: readonly PlacedRow<IndexBotRow>[];
  readonly servers: readonly PlacedRow<IndexServerRow>[];
}
/** The present score of one listing by board; a board on which it does not qualify is missing. */
export type ListingScores = ReadonlyMap<BoardName, number>;

const scoresAgeMaxMs = 10_000;
const scoresEntriesMax = 5_000;

interface BoardsState {
  readonly sql: Sql;
  readonly checkRules: CheckRules;
  readonly snapshots: Snapshots;
  /** `head`: the numbers of places and counts that it was read with. */
  readonly editions: Map<string, { readonly edition: Edition; readonly head: string }>;
  loaded: Promise<void> | null;
}

const toKey = (kind: string, board: string): string => `${kind} ${board}`;

/** Loads editions that have changed in SQL. */
const refresh = async ({ sql, editions }: BoardsState): Promise<void> => {
  const heads = await readHeads(sql);
  for (const { board, kind, places, counts } of heads) {
    const rankedKind = rankedKinds.find((known) => known === kind);
    const name = rankedKind && findBoard(rankedKind, board);
    const head = `${places} ${counts}`;
    if (!rankedKind || !name || editions.get(toKey(kind, board))?.head === head) continue;
    const edition = await readEdition(sql, { board: name, kind: rankedKind });
    if (edition !== null) editions.set(toKey(kind, board), { edition, head });
  }
};

const load = (state: BoardsState): Promise<void> => {
  state.loaded ??= asStorage('boards.load', () => refresh(state)).catch((error: unknown) => {
    state.loaded = null;
    throw error;
  });
  return state.loaded;
};

const isListed = ({ type, state = 'public' }: { type: string; state?: string }): boolean =>
  listedTypes.includes(type) && state === 'public';

interface PageRange {
  readonly offset: number;
  readonly limit: number;
}

/** Reads the rows of a page in their order, each with its index in the edition. */
const readRows = async (
  sql: Queryable,
  kind: RankedKind,
  { edition, offset, limit }: PageRange & { edition: Edition },
): Promise<Omit<BoardPage, 'edition'>> => {
  const places = edition.places.slice(offset, offset + limit);
  if (places.length === 0) return { bots: [], servers: [] };
  const incarnations = formatNumbers(places.map(({ incarnation }) => incarnation));
  const wanted: Fragment = sql`
    select id, place from unnest((select ${incarnations}::bigint[])) with ordinality as ranked (id, place)`;
  const toPlaced = <Row extends { readonly place: number }>(row: Row): PlacedRow<Row> => ({
    row,
    place: offset + row.place - 1,
  });
  if (kind === 'bot') {
    const bots = await selectIndexBots(sql, wanted, 'incarnation');
    return { bots: bots.filter(isListed).map(toPlaced), servers: [] };
  }
  const servers = await selectIndexServers(sql, wanted, 'incarnation');
  return { bots: [], servers: servers.filter(isListed).map(toPlaced) };
};

const readPage = async (
  { sql, snapshots }: BoardsState,
  edition: Edition | null,
  { kind, board, offset, limit }: PageRange & { kind: RankedKind; board: BoardName },
): Promise<BoardPage> => {
  if (edition === null) return { edition: null, bots: [], servers: [] };
  const read = async (): Promise<BoardPage> => ({
    edition,
    ...(await asStorage('boards.page', () => readRows(sql, kind, { edition, offset, limit }))),
  });
  const key = `board ${kind} ${board} ${offset} ${limit}`;
  // While SQL is unreachable a reader gets the page of an earlier edition.
  return snapshots.get(`${key} ${edition.number}`, () => snapshots.show(key, read));
};

const readScores = async (
  { sql, checkRules, editions }: BoardsState,
  { kind, incarnation }: { kind: RankedKind; incarnation: number },
): Promise<ListingScores> => {
  const only: Only = (column) => sql`${column} = ${incarnation}`;
  const queries = boardsByKind[kind].flatMap((board) => {
    const atMs = editions.get(toKey(kind, board))?.edition.number;
    if (atMs === undefined) return [];
    const scored = { board, kind, atMs, checkRules };
    return [sql`select ${board} as board, score from (${buildScored(sql, scored, only)}) as own`];
  });
  if (queries.length === 0) return new Map();
  const united = queries.reduce((all, one) => sql`${all} union all ${one}`);
  const rows = await sql<{ board: BoardName; score: number }[]>`${united}`;
  return new Map(rows.map(({ board, score }) => [board, score]));
};

/** Makes the editions of the board `votes` that are due at `atMs`. */
const makeVotes = async ({ sql }: BoardsState, atMs: number): Promise<void> => {
  for (const kind of rankedKinds) await makeVotesEdition(sql, kind, atMs);
};

/** Makes the editions of all other boards, and counts the board `votes`. Rejects when the signal aborts. */
const makeOthers = async ({ sql, checkRules }: BoardsState, atMs: number, options: StepOptions) => {
  await lookAtListings(sql, atMs, options);
  const isPastComplete = await addPastVotes(sql, atMs, options);
  for (const kind of rankedKinds) {
    for (const board of boardsByKind[kind]) {
      const scored = { board, kind, atMs, checkRules };
      if (board === 'votes') await countBoard(sql, scored, options);
      else if (board !== 'votes-ever' || isPastComplete) await makeEdition(sql, scored, options);
    }
  }
  // Few rows, but long ones: the embedded store, which counts rows, would vacuum them after days.
  await sql`vacuum (skip_locked) board_editions, board_counts`;
};

/** As many places around a listing. */
interface ListingWindow {
  readonly incarnation: number;
  readonly limit: number;
}

/** Creates the boards of one node. */
export const createBoards = (sql: Sql, snapshots: Snapshots, checkRules: CheckRules) => {
  const state: BoardsState = { sql, snapshots, checkRules, editions: new Map(), loaded: null };
  const find = (kind: RankedKind, board: BoardName): Edition | null =>
    state.editions.get(toKey(kind, board))?.edition ?? null;
  const loadOne = async (kind: RankedKind, board: BoardName): Promise<Edition | null> => {
    await load(state);
    return find(kind, board);
  };
  const scores = createSnapshots({ entriesMax: scoresEntriesMax, ageMaxMs: scoresAgeMaxMs });
  return {
    /** The newest edition that this node knows; `null` while there is none. */
    find,
    /** As `find`, but reads the editions first if this node has not yet. */
    load: loadOne,
    /** Reads a page; pages count from 1. Places that are no longer listed are left out. */
    page: async (kind: RankedKind, board: BoardName, page: number) => {
      // All pages past the end are one.
      const offset = Math.min(computeOffset(page, perPage.boards), placesMax);
      return readPage(state, await loadOne(kind, board), { kind, board, offset, limit: perPage.boards });
    },
    /** Reads the places around that of a listing; none if it has no place among the first. */
    around: async (kind: RankedKind, board: BoardName, { incarnation, limit }: ListingWindow) => {
      const edition = await loadOne(kind, board);
      const place = edition?.index.get(incarnation) ?? placesMax;
      const last = Math.max(0, (edition?.places.length ?? 0) - limit);
      const offset = place === placesMax ? place : Math.max(0, Math.min(place - (limit >> 1), last));
      return readPage(state, edition, { kind, board, offset, limit });
    },
    /** Reads the present scores of a listing, at most ten seconds old. */
    scores: async (listing: { readonly kind: RankedKind; readonly incarnation: number }) => {
      await load(state);
      return scores.get(String(listing.incarnation), () =>
        asStorage('boards.scores', () => readScores(state, listing)),
      );
    },
    /** For the job. */
    ...bindStorage('boards', state, { refresh, makeVotes, makeOthers }),
  };
};
export type Boards = ReturnType<typeof createBoards>;

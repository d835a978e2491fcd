/**
 * Shows pages of leaderboards, and the ranks of one listing on all boards of its kind.
 */
import type { EntityView } from '../../engine/engine.ts';
import { DomainError } from '../../engine/errors.ts';
import {
  type BoardName,
  boardNames,
  boardsByKind,
  computeRank,
  findBoard,
  type Rank,
  type RankedKind,
  rankedKinds,
  toShownScore,
} from '../../engine/rules/boards.ts';
import { perPage } from '../../engine/rules/pages.ts';
import type { BoardPage, PlacedRow } from '../../storage/catalogue/boards/boards.ts';
import type { App, Reply } from '../route.ts';
import { replyOk } from '../route.ts';
import type { LeaderboardReply, RankReply } from '../schema/leaderboards.ts';
import { computeVotes, createNotFoundError } from './convert.ts';
import { toIndexBot, toIndexServer } from './index-entities.ts';

const createUnknownError = (what: string, known: readonly string[]): DomainError =>
  new DomainError('not_found', `There is no such ${what}. Use one of: ${known.join(', ')}.`);

interface NamedBoard {
  readonly kind: RankedKind;
  readonly board: BoardName;
}

/** Throws `not_found`, with the valid names in the message. */
const parseBoard = (params: { readonly kind: string; readonly board: string }): NamedBoard => {
  const kind = rankedKinds.find((known) => params.kind === known || params.kind === `${known}s`);
  if (kind === undefined) throw createUnknownError('kind', rankedKinds);
  const board = findBoard(kind, params.board);
  if (board === null) throw createUnknownError('leaderboard', boardsByKind[kind]);
  return { kind, board };
};

const toReply = (app: App, board: BoardName, { edition, bots, servers }: BoardPage): LeaderboardReply => {
  const toPlace = <Row, Entity>({ row, place }: PlacedRow<Row>, toEntity: (row: Row) => Entity) => {
    const { change = null, score = 0, ratio = null } = edition?.places[place] ?? {};
    return {
      position: place + 1,
      change,
      score: toShownScore(board, score, edition?.number ?? 0),
      ratio: ratio === null ? null : Math.floor(ratio * 10_000) / 10_000,
      entity: toEntity(row),
    };
  };
  const nowMs = app.clock.nowMs();
  return {
    count: edition?.places.length ?? 0,
    per_page: perPage.boards,
    updated_at: edition === null ? null : new Date(edition.madeAtMs).toISOString(),
    results: [
      ...bots.map((placed) => toPlace(placed, (row) => toIndexBot(row, nowMs))),
      ...servers.map((placed) => toPlace(placed, (row) => toIndexServer(row, nowMs))),
    ] as LeaderboardReply['results'],
  };
};

/** Serialised and tagged once per page, which many requests share. */
const replies = new WeakMap<BoardPage, Reply>();

/** `GET /leaderboards/{kind}/{board}`. */
export const showLeaderboard = async (
  app: App,
  params: { readonly kind: string; readonly board: string },
  page: number,
): Promise<Reply> => {
  const { kind, board } = parseBoard(params);
  const shown = await app.catalogue.boards.page(kind, board, page);
  const reply = replies.get(shown) ?? {
    status: 200,
    text: JSON.stringify(toReply(app, board, shown)),
    tag: { etag: '' },
  };
  replies.set(shown, reply);
  return reply;
};

/** The rank by the present votes, from memory alone; `null` for a kind without boards. */
export const findVotesRank = (app: App, { ref, state }: EntityView): Rank | null => {
  const kind = rankedKinds.find((ranked) => ranked === ref.kind);
  const edition = kind && app.catalogue.boards.find(kind, 'votes');
  const votes = computeVotes(state);
  return edition ? computeRank(edition, ref.incarnation, votes > 0 ? votes : null) : null;
};

const toField = (board: BoardName): string => board.replaceAll('-', '_');

/** `GET /{target_type}/{target_id}/rank`. Throws `not_found` for what is not listed, as badges do. */
export const showRank = async (
  app: App,
  { target_type: kind, target_id }: { readonly target_type: RankedKind; readonly target_id: string },
): Promise<Reply> => {
  const { ref, state } = await app.engine.read(kind, target_id);
  if (!state.facts.listed) throw createNotFoundError(kind);
  const scores = await app.catalogue.boards.scores({ kind, incarnation: ref.incarnation });
  const readRank = (board: BoardName): Rank | null => {
    const edition = findBoard(kind, board) && app.catalogue.boards.find(kind, board);
    return edition && computeRank(edition, ref.incarnation, scores.get(board) ?? null);
  };
  return replyOk({
    target_type: kind,
    target_id: ref.id,
    ...Object.fromEntries(boardNames.map((board) => [toField(board), readRank(board)])),
  } as RankReply);
};

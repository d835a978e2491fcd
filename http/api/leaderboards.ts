/**
 * Leaderboards: the boards of bots and servers, and the ranks of one listing on all boards of its kind.
 */
import { type Static, type TSchema, Type } from 'typebox';
import type { EntityView } from '../../engine/engine.ts';
import { computeVotes } from '../../engine/entity/state.ts';
import { DomainError } from '../../engine/errors.ts';
import type { EntityRef } from '../../engine/ids.ts';
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
import type { App } from '../app.ts';
import { createNotFoundError } from '../response/errors.ts';
import { replyOk } from '../response/reply.ts';
import { definePublicRoute, defineRoutes } from '../route.ts';
import {
  buildCount,
  buildTargetParams,
  buildText,
  PageQuery,
  TargetId,
  Timestamp,
  toNullable,
} from './shared/common.ts';
import { parsePage, replySnapshot } from './shared/convert.ts';
import { describe, describeObject, findExample } from './shared/example.ts';
import { IndexBot, IndexServer, toIndexBot, toIndexServer } from './shared/index-entities.ts';

const aroundDefault = 11;

export const LeaderboardQuery = Type.Object({
  ...PageQuery.properties,
  around: Type.Optional(
    Type.String({
      ...TargetId,
      description:
        'Id of a bot or server: the places around its own instead of a page, none if it is not among the ' +
        'first 1,000.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: perPage.boards,
      description: 'With `around`: how many places, its own in their middle where it can be; 11 if absent.',
    }),
  ),
});

export const LeaderboardParams = Type.Object({
  kind: Type.String({
    minLength: 1,
    maxLength: 32,
    description: '`bot` or `server`; a trailing `s` is accepted. Others get 404.',
    examples: ['bots'],
  }),
  board: Type.String({
    minLength: 1,
    maxLength: 32,
    description:
      '`votes`, `votes-last-month`, `votes-ever`, `unique-clicks-week`, `trending`, `newcomers`; of bots ' +
      'also `growth-week` and `uptime`. Others get 404.',
    examples: ['votes'],
  }),
});

const buildPlaceSchema = <Entity extends TSchema>(entity: Entity) =>
  Type.Object({
    position: Type.Integer({ minimum: 1, maximum: 1_000, description: 'From 1, without holes or doubles.' }),
    change: toNullable(
      Type.Integer(),
      'Places gained since the day before (UTC); `null` if it was not among the first 1,000 then.',
    ),
    score: Type.Number({ description: 'What the board counts; beyond 2^53 it is rounded to 53 bits.' }),
    ratio: toNullable(
      Type.Number(),
      'Only on `growth-week`: the score divided by the servers a week ago; else `null`.',
    ),
    entity: describe(entity, 'The bot or server, as lists show it.'),
  });

const placeExample = { position: 1, change: 2, score: 41, ratio: null, entity: findExample(IndexBot) };

export const LeaderboardReply = describeObject(
  'One page of a leaderboard.',
  {
    count: Type.Integer({ minimum: 0, maximum: 1_000, description: 'Places on all pages.', examples: [1] }),
    per_page: buildCount(perPage.boards, 'Places on a full page.'),
    updated_at: toNullable(
      Timestamp,
      'When this edition of the board was made; `null` before the first one.',
    ),
    results: Type.Union([Type.Array(buildPlaceSchema(IndexBot)), Type.Array(buildPlaceSchema(IndexServer))], {
      description: 'The places of this page, best first; without those that are no longer listed.',
    }),
  },
  { updated_at: '2026-03-01T12:00:00.000Z', results: [placeExample] },
);
export type LeaderboardReply = Static<typeof LeaderboardReply>;
export const RankParams = buildTargetParams(rankedKinds);

const BoardRank = Type.Object({
  position: Type.Integer({ minimum: 1, description: 'Its place on the board, from 1.' }),
  of: Type.Integer({ minimum: 0, description: 'How many listings are on the board.' }),
  exact: Type.Boolean({
    description: 'Whether the position is that of the board; else it is right within 0.1 % of `of`.',
  }),
});

const rankExample = { position: 12, of: 4_210, exact: true };

const buildRank = (board: string) =>
  toNullable(BoardRank, `Rank on the board \`${board}\`; \`null\` without a position there.`);

export const RankReply = describeObject(
  'The positions of one bot or server on all leaderboards.',
  {
    target_type: buildText('bot', '`bot` or `server`.'),
    target_id: buildText('815553000470478850', 'Id of the bot or server.'),
    votes: buildRank('votes'),
    votes_last_month: buildRank('votes-last-month'),
    votes_ever: buildRank('votes-ever'),
    unique_clicks_week: buildRank('unique-clicks-week'),
    growth_week: buildRank('growth-week'),
    trending: buildRank('trending'),
    newcomers: buildRank('newcomers'),
    uptime: buildRank('uptime'),
  },
  {
    votes: rankExample,
    votes_last_month: { position: 9, of: 3_977, exact: true },
    votes_ever: rankExample,
    unique_clicks_week: { position: 2_031, of: 3_100, exact: false },
    growth_week: null,
    trending: rankExample,
    newcomers: null,
    uptime: null,
  },
);

export const leaderboardRoutes = defineRoutes('Beyond the contract', [
  definePublicRoute('readLeaderboard', 'GET /leaderboards/{kind}/{board}', {
    summary: 'Get a leaderboard',
    description:
      'Lists the first 1,000 bots or servers of a board, 25 on a page. A board is made every 10 minutes, ' +
      '`votes` every 60 seconds. The section says what each of them counts.',
    caching: 'list',
    params: LeaderboardParams,
    query: LeaderboardQuery,
    replies: { 200: LeaderboardReply },
    handle: async (app, { params, query }) => {
      const page = parsePage(query);
      const { kind, board } = parseBoard(params);
      const { around, limit = aroundDefault } = query;
      if (around === undefined) {
        const shown = await app.catalogue.boards.page(kind, board, page);
        return replySnapshot(shown, () => toReply(app, shown, { board, per_page: perPage.boards }));
      }
      const { incarnation } = await readListed(app, kind, around);
      const shown = await app.catalogue.boards.around(kind, board, { incarnation, limit });
      return replySnapshot(shown, () => toReply(app, shown, { board, per_page: limit }));
    },
  }),
  definePublicRoute('readRank', 'GET /{target_type}/{target_id}/rank', {
    summary: 'Get the ranks of a bot or server',
    description:
      'Returns the positions of a bot or server on all boards; `null` where it has none. A field is the ' +
      'name of the board with `_` for `-`.',
    caching: 'entity',
    params: RankParams,
    replies: { 200: RankReply },
    // `not_found` for what is not listed, as badges do.
    handle: async (app, { params: { target_type: kind, target_id } }) => {
      const ref = await readListed(app, kind, target_id);
      const scores = await app.catalogue.boards.scores({ kind, incarnation: ref.incarnation });
      const readRank = (board: BoardName): Rank | null => {
        const edition = findBoard(kind, board) && app.catalogue.boards.find(kind, board);
        return edition && computeRank(edition, ref.incarnation, scores.get(board) ?? null);
      };
      const ranks = boardNames.map((board) => [board.replaceAll('-', '_'), readRank(board)]);
      return replyOk({ target_type: kind, target_id: ref.id, ...Object.fromEntries(ranks) });
    },
  }),
]);

const createUnknownError = (what: string, known: readonly string[]): DomainError =>
  new DomainError('not_found', `There is no such ${what}. Use one of: ${known.join(', ')}.`);

/** Throws `not_found`, with the valid names in the message. */
const parseBoard = (params: { readonly kind: string; readonly board: string }) => {
  const kind = rankedKinds.find((known) => params.kind === known || params.kind === `${known}s`);
  if (kind === undefined) throw createUnknownError('kind', rankedKinds);
  const board = findBoard(kind, params.board);
  if (board === null) throw createUnknownError('leaderboard', boardsByKind[kind]);
  return { kind, board };
};

/** Throws `not_found` for what is not listed. */
const readListed = async (app: App, kind: RankedKind, id: string): Promise<EntityRef> => {
  const { ref, state } = await app.engine.read(kind, id);
  if (state.facts.listed) return ref;
  throw createNotFoundError(kind);
};

const toReply = (
  app: App,
  { edition, bots, servers }: BoardPage,
  { board, per_page }: { readonly board: BoardName; readonly per_page: number },
): LeaderboardReply => {
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
    per_page,
    updated_at: edition === null ? null : new Date(edition.madeAtMs).toISOString(),
    results: [
      ...bots.map((placed) => toPlace(placed, (row) => toIndexBot(row, nowMs))),
      ...servers.map((placed) => toPlace(placed, (row) => toIndexServer(row, nowMs))),
    ] as LeaderboardReply['results'],
  };
};

/** The rank by the present votes, from memory alone; `null` for a kind without boards. */
export const findVotesRank = (app: App, { ref, state }: EntityView): Rank | null => {
  const kind = rankedKinds.find((ranked) => ranked === ref.kind);
  const edition = kind && app.catalogue.boards.find(kind, 'votes');
  const votes = computeVotes(state);
  return edition ? computeRank(edition, ref.incarnation, votes > 0 ? votes : null) : null;
};

/**
 * Routes of leaderboards: the boards of bots and servers, and the ranks of one of them.
 */
import { showLeaderboard, showRank } from '../handlers/leaderboards.ts';
import { parsePage } from '../handlers/request-values.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { PageQuery } from '../schema/common.ts';
import { LeaderboardParams, LeaderboardReply, RankParams, RankReply } from '../schema/leaderboards.ts';

export const leaderboardRoutes = defineRoutes('Beyond the contract', [
  defineRoute({
    name: 'readLeaderboard',
    pattern: 'GET /leaderboards/{kind}/{board}',
    summary: 'Get a leaderboard',
    description:
      'Lists the first 1,000 bots or servers of a board, 25 on a page. A board is made every 10 minutes, ' +
      '`votes` every 60 seconds; docs/behaviour.md says what each of them counts.',
    auth: { kind: 'public' },
    caching: 'list',
    params: LeaderboardParams,
    query: PageQuery,
    replies: { 200: LeaderboardReply },
    errors: ['page_invalid', 'not_found'],
    handle: (app, { params, query }) => showLeaderboard(app, params, parsePage(query)),
  }),
  defineRoute({
    name: 'readRank',
    pattern: 'GET /{target_type}/{target_id}/rank',
    summary: 'Get the ranks of a bot or server',
    description:
      'Returns the positions of a bot or server on all boards; `null` where it has none. A field is the ' +
      'name of the board with `_` for `-`.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: RankParams,
    replies: { 200: RankReply },
    errors: ['not_found'],
    handle: (app, { params }) => showRank(app, params),
  }),
]);

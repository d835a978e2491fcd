/**
 * Routes of servers: a list and a page like those of bots, which the contract has for bots alone.
 */
import { perPage } from '../../engine/rules/pages.ts';
import { showServerPage } from '../handlers/lists.ts';
import { parsePage } from '../handlers/request-values.ts';
import { showServer } from '../handlers/servers.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { BotQuery } from '../schema/bots.ts';
import { buildPageSchema, PageQuery } from '../schema/common.ts';
import { IndexServer } from '../schema/index-entities.ts';
import { Server, ServerParams } from '../schema/servers.ts';

export const serverRoutes = defineRoutes('Beyond the contract', [
  defineRoute({
    name: 'listServers',
    pattern: 'GET /servers/@all',
    summary: 'List servers',
    description: 'All approved and certified public servers, newest first, 12 per page.',
    auth: { kind: 'public' },
    caching: 'list',
    query: PageQuery,
    replies: { 200: buildPageSchema(IndexServer, perPage.servers) },
    errors: ['page_invalid'],
    handle: (app, { query }) => showServerPage(app, parsePage(query)),
  }),
  defineRoute({
    name: 'getServer',
    pattern: 'GET /servers/{id}',
    summary: 'Get a server',
    description:
      'One server of any type, with live numbers. `target=page` and `target=invite` count the visit; ' +
      'the reply shows the totals before it.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: ServerParams,
    query: BotQuery,
    replies: { 200: Server },
    errors: ['not_found'],
    handle: (app, request) => showServer(app, request),
  }),
]);

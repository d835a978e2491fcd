/**
 * Rows of servers: the twins of the bots' list and page (docs/behaviour.md, "Beyond the contract").
 */
import { perPage } from '../../engine/rules/pages.ts';
import { showServerPage } from '../replies/lists.ts';
import { pageOf } from '../replies/request.ts';
import { showServer } from '../replies/servers.ts';
import { type AnyRow, route } from '../route.ts';
import { BotQuery } from '../schema/bots.ts';
import { NoParams, PageQuery, pageOf as pageSchema } from '../schema/common.ts';
import { IndexServer, indexServerExample } from '../schema/index-entities.ts';
import { Server, ServerParams } from '../schema/servers.ts';

const section = 'Servers';

export const serverRows: readonly AnyRow[] = [
  route({
    name: 'listServers',
    method: 'GET',
    path: '/servers/@all',
    section,
    summary: 'Lists all approved and certified public servers, newest first.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    query: PageQuery,
    replies: { 200: pageSchema(IndexServer, perPage.servers, indexServerExample) },
    errors: ['page_invalid'],
    handle: (app, { query }) => showServerPage(app, pageOf(query)),
  }),
  route({
    name: 'getServer',
    method: 'GET',
    path: '/servers/{id}',
    section,
    summary: 'One server, with live counters.',
    description: 'With `target=page` or `invite` the visit is counted; the reply shows the totals before it.',
    auth: { word: 'public' },
    caching: 'entity',
    params: ServerParams,
    query: BotQuery,
    replies: { 200: Server },
    errors: ['not_found'],
    handle: (app, request) => showServer(app, request),
  }),
];

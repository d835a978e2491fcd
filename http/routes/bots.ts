/**
 * Rows of bots (contract §4.2): the lists, one bot, the stats post. Handlers only pass on to replies/.
 */

import { limits } from '../../engine/limits.ts';
import { perPage } from '../../engine/rules/pages.ts';
import type { BodyLimits } from '../body.ts';
import { showBot, showBotSeo } from '../replies/bots.ts';
import { showBotPage, showFrontPage, showRandomBots } from '../replies/lists.ts';
import { pageOf } from '../replies/request.ts';
import { recordStats } from '../replies/stats.ts';
import { type AnyRow, route } from '../route.ts';
import { Bot, BotParams, BotQuery, BotsIndex, BotsRandom, StatsBody } from '../schema/bots.ts';
import { ApiResponse, NoParams, PageQuery, pageOf as pageSchema, Seo } from '../schema/common.ts';
import { IndexBot, indexBotExample } from '../schema/index-entities.ts';

const section = 'Bots';

/** A full `shard_list` with 20 digits each takes 344,000 bytes; real clients send unknown fields, too. */
const statsBodyLimits: BodyLimits = {
  bytesMax: 393_216,
  fieldsMax: 64,
  valuesMax: limits.shardListEntriesMax + 1_024,
};

export const botRows: readonly AnyRow[] = [
  route({
    name: 'listBots',
    method: 'GET',
    path: '/bots/@all',
    section,
    summary: 'Lists all approved and certified bots, newest first.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    query: PageQuery,
    replies: { 200: pageSchema(IndexBot, perPage.bots, indexBotExample) },
    errors: ['page_invalid'],
    handle: (app, { query }) => showBotPage(app, pageOf(query)),
  }),
  route({
    name: 'randomBots',
    method: 'GET',
    path: '/bots/@random',
    section,
    summary: 'Six listed bots, others each time.',
    auth: { word: 'public' },
    caching: 'no-store',
    params: NoParams,
    replies: { 200: BotsRandom },
    errors: [],
    handle: (app) => showRandomBots(app),
  }),
  route({
    name: 'indexBots',
    method: 'GET',
    path: '/bots/@index',
    section,
    summary: 'The lists of the front page.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    replies: { 200: BotsIndex },
    errors: [],
    handle: (app) => showFrontPage(app),
  }),
  route({
    name: 'getBot',
    method: 'GET',
    path: '/bots/{id}',
    section,
    summary: 'One bot, with live counters.',
    description: 'With `target=page` or `invite` the visit is counted; the reply shows the totals before it.',
    auth: { word: 'public' },
    caching: 'entity',
    params: BotParams,
    query: BotQuery,
    replies: { 200: Bot },
    errors: ['not_found'],
    handle: (app, request) => showBot(app, request),
  }),
  route({
    name: 'getBotSeo',
    method: 'GET',
    path: '/bots/{id}/seo',
    section,
    summary: 'What a link preview of a bot needs.',
    auth: { word: 'public' },
    caching: 'entity',
    params: BotParams,
    replies: { 200: Seo },
    errors: ['not_found'],
    handle: (app, { params }) => showBotSeo(app, params.id),
  }),
  route({
    name: 'postStats',
    method: 'POST',
    path: '/bots/stats',
    section,
    summary: "Records the calling bot's statistics.",
    description:
      'Acknowledged when the hot store has confirmed it. Equal posts may come as often as you like.',
    auth: { word: 'bot' },
    // What a bot counts is its own, whatever its owner did.
    bannedAllowed: true,
    limit: 'stats',
    caching: 'no-store',
    params: NoParams,
    body: StatsBody,
    bodyLimits: statsBodyLimits,
    replies: { 200: ApiResponse },
    errors: ['not_found'],
    handle: (app, request) => recordStats(app, request),
  }),
];

/**
 * Routes of bots (contract §4.2): the lists, one bot, the stats post. Lists and the front page are serialised
 * once per snapshot: an object that many requests share. Its text is cached by it and dropped with it.
 */
import { perPage } from '../../../engine/rules/pages.ts';
import type { FrontPage } from '../../../storage/catalogue/lists/front-page.ts';
import type { IndexBotRow } from '../../../storage/catalogue/shared/index-rows.ts';
import type { App } from '../../app.ts';
import { createNotFoundError } from '../../response/errors.ts';
import { replyOk } from '../../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../../route.ts';
import { toPacks } from '../packs.ts';
import { ApiResponse, buildPageSchema, PageQuery, Seo } from '../shared/common.ts';
import { parsePage, replyPage, replySnapshot, thenMaybe, toUser } from '../shared/convert.ts';
import { IndexBot, toIndexBot } from '../shared/index-entities.ts';
import { showBot } from './bots.ts';
import { Bot, BotParams, BotQuery, BotsIndex, BotsRandom, StatsBody } from './schema.ts';
import { recordStats, statsBodyLimits } from './stats.ts';

const toIndexBots = (app: App, rows: readonly IndexBotRow[]): IndexBot[] =>
  rows.map((row) => toIndexBot(row, app.clock.nowMs()));

const randomBotsCount = 6;

const toBotsIndex = (app: App, page: FrontPage): BotsIndex => ({
  certified: toIndexBots(app, page.bots.certified),
  most_viewed: toIndexBots(app, page.bots.most_viewed),
  packs: toPacks(page.packs, app.clock.nowMs()),
  premium: toIndexBots(app, page.bots.premium),
  recently_added: toIndexBots(app, page.bots.recently_added),
  top_voted: toIndexBots(app, page.bots.top_voted),
});

export const botRoutes = defineRoutes('Bots', [
  definePublicRoute('listBots', 'GET /bots/@all', {
    summary: 'List bots',
    description: 'All approved and certified bots, newest first, 12 per page.',
    caching: 'list',
    query: PageQuery,
    replies: { 200: buildPageSchema(IndexBot, perPage.bots) },
    handle: async (app, { query }) =>
      replyPage(await app.catalogue.bots.page(parsePage(query)), perPage.bots, (rows) =>
        toIndexBots(app, rows),
      ),
  }),
  definePublicRoute('randomBots', 'GET /bots/@random', {
    summary: 'Get random bots',
    description: 'Up to six listed bots, each equally likely, chosen again for every request.',
    replies: { 200: BotsRandom },
    handle: async (app) =>
      replyOk({ bots: toIndexBots(app, await app.catalogue.bots.random(randomBotsCount)) }),
  }),
  definePublicRoute('indexBots', 'GET /bots/@index', {
    summary: 'Get the front page',
    description:
      'The lists of the front page: certified, premium, most voted, most viewed and new bots, and new ' +
      'packs.',
    caching: 'list',
    replies: { 200: BotsIndex },
    handle: async (app) => {
      const page = await app.catalogue.bots.frontPage();
      return replySnapshot(page, () => toBotsIndex(app, page));
    },
  }),
  definePublicRoute('getBot', 'GET /bots/{id}', {
    summary: 'Get a bot',
    description:
      'One bot of any type, with live numbers. `target=page` and `target=invite` count the visit; the ' +
      'reply shows the totals before it.',
    caching: 'entity',
    params: BotParams,
    query: BotQuery,
    replies: { 200: Bot },
    handle: showBot,
  }),
  definePublicRoute('getBotSeo', 'GET /bots/{id}/seo', {
    summary: 'Get the preview of a bot',
    description: 'What search engines and link previews show of a bot.',
    caching: 'entity',
    params: BotParams,
    replies: { 200: Seo },
    handle: (app, { params }) =>
      thenMaybe(app.catalogue.bots.find(params.id), (profile) => {
        if (profile === null) throw createNotFoundError('bot');
        const { avatar, username: name } = toUser(profile.person, { id: profile.id, bot: true });
        return replyOk({ avatar, id: profile.id, name, short: profile.short });
      }),
  }),
  defineRoute('postStats', 'POST /bots/stats', {
    summary: 'Post stats',
    description:
      "Records the calling bot's statistics. The reply is sent when they are on disk. Absent fields " +
      'keep their value, and 0 is a value. Sending the same again is always safe; post as often as ' +
      'you like. `mode` in `context` is `totals` where the post has ended the sums of shards; `ignored` ' +
      'has the names in a body without any known field.',
    auth: { kind: 'bot' },
    // A ban of the owner does not stop the bot from posting its statistics.
    bannedAllowed: true,
    limit: 'stats',
    body: StatsBody,
    bodyLimits: statsBodyLimits,
    replies: { 200: ApiResponse },
    errors: ['not_found'],
    handle: recordStats,
  }),
]);

/**
 * Shows pages of lists and the front page, serialised once per snapshot.
 *
 * A snapshot is one object that many requests share. Its text is cached by that object and dropped with it.
 */
import { perPage } from '../../../engine/rules/pages.ts';
import type { FrontPage } from '../../../storage/catalogue/lists/front-page.ts';
import type { IndexBotRow } from '../../../storage/catalogue/shared/index-rows.ts';
import type { App } from '../../app.ts';
import type { Reply } from '../../response/reply.ts';
import { toPacks } from '../packs.ts';
import { type IndexBot, toIndexBot } from '../shared/index-entities.ts';
import { replyPage, replySnapshot } from '../shared/list-replies.ts';
import type { BotsIndex } from './schema.ts';

const toIndexBots = (app: App, rows: readonly IndexBotRow[]): IndexBot[] =>
  rows.map((row) => toIndexBot(row, app.clock.nowMs()));

/** `GET /bots/@all`. */
export const showBotPage = async (app: App, page: number): Promise<Reply> =>
  replyPage(await app.catalogue.bots.page(page), {
    rowsPerPage: perPage.bots,
    results: (rows) => toIndexBots(app, rows),
  });

const randomBotsCount = 6;

/** `GET /bots/@random`: never cached. */
export const showRandomBots = async (app: App): Promise<Reply> => ({
  status: 200,
  json: { bots: toIndexBots(app, await app.catalogue.bots.random(randomBotsCount)) },
});

const toBotsIndex = (app: App, page: FrontPage): BotsIndex => ({
  certified: toIndexBots(app, page.bots.certified),
  most_viewed: toIndexBots(app, page.bots.most_viewed),
  packs: toPacks(page.packs, app.clock.nowMs()),
  premium: toIndexBots(app, page.bots.premium),
  recently_added: toIndexBots(app, page.bots.recently_added),
  top_voted: toIndexBots(app, page.bots.top_voted),
});

/** `GET /bots/@index`. */
export const showFrontPage = async (app: App): Promise<Reply> => {
  const page = await app.catalogue.bots.frontPage();
  return replySnapshot(page, () => toBotsIndex(app, page));
};

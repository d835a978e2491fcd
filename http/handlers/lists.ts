/**
 * Shows pages of lists and the front page, serialised once per snapshot.
 *
 * A snapshot is one object that many requests share. Its text is cached by that object and dropped with it.
 */
import { perPage } from '../../engine/rules/pages.ts';
import type { Listing } from '../../storage/catalogue/catalogue.ts';
import type { FrontPage } from '../../storage/catalogue/lists/front-page.ts';
import type { PackPage } from '../../storage/catalogue/packs/packs.ts';
import type { IndexBotRow, IndexServerRow } from '../../storage/catalogue/shared/index-rows.ts';
import type { App, Reply } from '../route.ts';
import { replyText } from '../route.ts';
import type { BotsIndex } from '../schema/bots.ts';
import type { IndexBot } from '../schema/index-entities.ts';
import { toIndexBot, toIndexServer } from './index-entities.ts';
import { toPacks } from './packs.ts';

const snapshotTexts = new WeakMap<object, string>();

/** The reply of a snapshot; `value` is serialised only once per snapshot object. */
export const replySnapshot = (snapshot: object, value: () => unknown): Reply => {
  const text = snapshotTexts.get(snapshot) ?? JSON.stringify(value());
  snapshotTexts.set(snapshot, text);
  return replyText(text);
};

/** The page envelope of contract §2.15. */
const replyPage = <Rows>(
  listing: Listing<Rows>,
  page: { readonly rowsPerPage: number; readonly results: (rows: Rows) => readonly unknown[] },
): Reply =>
  replySnapshot(listing, () => ({
    count: listing.count,
    per_page: page.rowsPerPage,
    results: page.results(listing.rows),
  }));

const toIndexBots = (app: App, rows: readonly IndexBotRow[]): IndexBot[] =>
  rows.map((row) => toIndexBot(row, app.clock.nowMs()));

/** `GET /bots/@all`. */
export const showBotPage = async (app: App, page: number): Promise<Reply> =>
  replyPage(await app.catalogue.bots.page(page), {
    rowsPerPage: perPage.bots,
    results: (rows) => toIndexBots(app, rows),
  });

/** `GET /servers/@all`. */
export const showServerPage = async (app: App, page: number): Promise<Reply> =>
  replyPage(await app.catalogue.servers.page(page), {
    rowsPerPage: perPage.servers,
    results: (rows: readonly IndexServerRow[]) => rows.map((row) => toIndexServer(row, app.clock.nowMs())),
  });

/** `GET /packs/@all`. */
export const showPackPage = async (app: App, page: number): Promise<Reply> =>
  replyPage(await app.catalogue.packs.page(page), {
    rowsPerPage: perPage.packs,
    results: (rows: PackPage) => toPacks(rows, app.clock.nowMs()),
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

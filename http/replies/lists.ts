/**
 * Pages of lists and the front page as text, serialised once per snapshot.
 *
 * A snapshot is one object that many requests share, so its text hangs on the object itself and goes with it.
 */
import { perPage } from '../../engine/rules/pages.ts';
import type { Listing } from '../../storage/catalogue/catalogue.ts';
import type { FrontPage } from '../../storage/catalogue/front-page.ts';
import type { IndexBotRow, IndexServerRow } from '../../storage/catalogue/index-rows.ts';
import type { PackPage } from '../../storage/catalogue/packs.ts';
import type { App, Reply } from '../route.ts';
import { text } from '../route.ts';
import type { BotsIndex } from '../schema/bots.ts';
import type { IndexBot } from '../schema/index-entities.ts';
import { indexBotOf, indexServerOf } from './index-entities.ts';
import { packsOf } from './packs.ts';

const texts = new WeakMap<object, string>();

/** The reply of a snapshot: its text is made once and hangs on the object. */
export const textOnce = (snapshot: object, value: () => unknown): Reply => {
  const known = texts.get(snapshot) ?? JSON.stringify(value());
  texts.set(snapshot, known);
  return text(known);
};

/** The envelope of contract §2.15. */
const pageText = <Rows>(
  listing: Listing<Rows>,
  page: { readonly rowsPerPage: number; readonly results: (rows: Rows) => readonly unknown[] },
): Reply =>
  textOnce(listing, () => ({
    count: listing.count,
    per_page: page.rowsPerPage,
    results: page.results(listing.rows),
  }));

const botsOf = (app: App, rows: readonly IndexBotRow[]): IndexBot[] =>
  rows.map((row) => indexBotOf(row, app.clock.nowMs()));

export const showBotPage = async (app: App, page: number): Promise<Reply> =>
  pageText(await app.catalogue.bots.page(page), {
    rowsPerPage: perPage.bots,
    results: (rows) => botsOf(app, rows),
  });

export const showServerPage = async (app: App, page: number): Promise<Reply> =>
  pageText(await app.catalogue.servers.page(page), {
    rowsPerPage: perPage.servers,
    results: (rows: readonly IndexServerRow[]) => rows.map((row) => indexServerOf(row, app.clock.nowMs())),
  });

export const showPackPage = async (app: App, page: number): Promise<Reply> =>
  pageText(await app.catalogue.packs.page(page), {
    rowsPerPage: perPage.packs,
    results: (rows: PackPage) => packsOf(rows, app.clock.nowMs()),
  });

/** Bots of a random pick; the pick itself is never cached. */
const randomBotsWanted = 6;
export const showRandomBots = async (app: App): Promise<Reply> => ({
  status: 200,
  json: { bots: botsOf(app, await app.catalogue.bots.random(randomBotsWanted)) },
});

const frontPageOf = (app: App, page: FrontPage): BotsIndex => ({
  certified: botsOf(app, page.bots.certified),
  most_viewed: botsOf(app, page.bots.most_viewed),
  packs: packsOf(page.packs, app.clock.nowMs()),
  premium: botsOf(app, page.bots.premium),
  recently_added: botsOf(app, page.bots.recently_added),
  top_voted: botsOf(app, page.bots.top_voted),
});

export const showFrontPage = async (app: App): Promise<Reply> => {
  const page = await app.catalogue.bots.frontPage();
  return textOnce(page, () => frontPageOf(app, page));
};

/**
 * The routes of the site: pages for people, rendered here from what the handlers of the API read. With
 * `SITE_PAGES=off` only the front page and the guides are left.
 */
import type { DomainError } from '../../engine/errors.ts';
import type { ListingSearch } from '../api/search.ts';
import { checkItag, VanityParams, VanityQuery } from '../api/vanity.ts';
import type { App } from '../app.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import { buildAssetRoutes } from './assets.ts';
import { buildCardRoutes } from './card-routes.ts';
import { isPageFetch } from './fetchers.ts';
import { createFrontPage } from './front.ts';
import { buildGuideRoutes } from './guides.ts';
import { renderPage, replyErrorPage } from './layout.ts';
import { createListingPages, type ListingRequest } from './listing.ts';
import { showSearchPage } from './search-page.ts';
import { type Html, render, type Site, sharedVary } from './site.ts';
import { buildSitemapRoutes } from './sitemap.ts';

type Handle = AnyRoute['handle'];
type AnyRequest = Parameters<Handle>[1];

/** Who gets a page, and the `Vary` of what the others get. */
interface Audience {
  readonly vary: string;
  includes(request: AnyRequest): boolean;
}

const people: Audience = { vary: 'Accept', includes: ({ wantsPage }) => wantsPage };
/** Of the addresses that people share. */
const peopleAndFetchers: Audience = {
  vary: sharedVary,
  includes: ({ wantsPage, headers }) => wantsPage || isPageFetch(headers),
};

/** Makes a route serve a page to its audience, and its own reply to all others. */
const servePage = (site: Site, route: AnyRoute, [audience, showPage]: readonly [Audience, Handle]) => {
  // Tells caches what the reply depends on.
  const addVary = (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, Vary: audience.vary } });
  return {
    ...route,
    handle: (app: App, request: AnyRequest) => {
      if (audience.includes(request)) return showPage(app, request);
      const reply = route.handle(app, request);
      return reply instanceof Promise ? reply.then(addVary) : addVary(reply);
    },
    replaceError: replaceError(site, audience),
  };
};

const replaceError =
  (site: Site, audience: Audience) =>
  (_: App, request: AnyRequest, error: DomainError): Reply | null =>
    audience.includes(request) ? replyErrorPage(site, error, audience.vary) : null;

/** For programs; browsers get the front page. */
const rootReply: Reply = {
  status: 200,
  json: { name: 'rollcall', docs: '/docs', openapi: '/openapi.json' },
  headers: { Vary: sharedVary },
};

const buildRootRoute = (site: Site): AnyRoute => {
  const showFrontPage = createFrontPage(site);
  return defineDocument('root', 'GET /', {
    summary: 'Where to begin.',
    handle: (app, { prefersHtml, headers }) =>
      prefersHtml || isPageFetch(headers) ? showFrontPage(app) : rootReply,
  });
};

/** Its script exchanges the code for a token, stores that for this tab and returns to where it began. */
const renderLoginPage = (site: Site): Html =>
  renderPage(site, {
    title: 'Login',
    scripts: ['login.ts'],
    body: render`<section class="card plain"><h1>Login</h1>
<p id="login-note" role="status">One moment …</p>
<noscript><p>The login needs JavaScript.</p></noscript>
<p><a href="/" id="login-back">To the front page</a></p></section>`,
  });

/** Builds the routes of pages that no route of the API has. */
const buildPageRoutes = (site: Site, pages: ReturnType<typeof createListingPages>): readonly AnyRoute[] => [
  defineDocument('packPage', 'GET /@packs/{code}', {
    summary: 'The page of a pack.',
    caching: 'no-store',
    params: VanityParams,
    handle: (app, request) =>
      peopleAndFetchers.includes(request)
        ? pages.showPack(app, request as ListingRequest)
        : {
            status: 302,
            headers: { Location: `/packs/${encodeURIComponent(request.params.code)}`, Vary: sharedVary },
          },
    replaceError: replaceError(site, peopleAndFetchers),
  }),
  defineDocument('inviteLink', 'GET /@{code}/invite', {
    summary: 'Counts the use of an invite and leads to it.',
    caching: 'no-store',
    params: VanityParams,
    query: VanityQuery,
    check: checkItag,
    handle: (app, request) => pages.followInvite(app, request as ListingRequest),
    replaceError: replaceError(site, peopleAndFetchers),
  }),
  defineDocument('loginPage', 'GET /login', {
    summary: 'Where the login provider sends people back to.',
    caching: 'no-store',
    handle: () => ({ status: 200, text: renderLoginPage(site).text, headers: site.pageHeaders }),
  }),
];

const buildCommonRoutes = (site: Site): readonly AnyRoute[] => [
  buildRootRoute(site),
  ...buildAssetRoutes(site),
  ...buildGuideRoutes(site),
];

/** Returns the routes of the API with their pages, and those of the site. `SITE_PAGES=off` adds no pages. */
export const addSite = (routes: readonly AnyRoute[], site: Site): readonly AnyRoute[] => {
  if (site.settings.sitePages === 'off') return [...routes, ...buildCommonRoutes(site)];
  const pages = createListingPages(site);
  const shows: Readonly<Record<string, readonly [Audience, Handle]>> = {
    searchListings: [people, (app, { query }) => showSearchPage(site, app, query as ListingSearch)],
    followVanity: [peopleAndFetchers, (app, request) => pages.show(app, request as ListingRequest)],
  };
  const withPages = routes.map((route) => {
    const shown = shows[route.name];
    return shown === undefined ? route : servePage(site, route, shown);
  });
  return [
    ...withPages,
    ...buildPageRoutes(site, pages),
    ...buildCommonRoutes(site),
    ...buildSitemapRoutes(site),
    ...buildCardRoutes(site),
  ];
};

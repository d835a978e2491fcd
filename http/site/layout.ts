/**
 * The frame of every page: head with previews for other sites, header with the search, footer. Pure.
 */
import { type DomainError, errorStatuses } from '../../engine/errors.ts';
import type { Reply } from '../response/reply.ts';
import { type Html, render, type Site } from './site.ts';

export interface PageParts {
  readonly title: string;
  /** For search engines and previews. */
  readonly description?: string;
  /** The path of the page's canonical address; without it the page is not to be indexed. */
  readonly path?: string;
  /** The address of a picture for previews; without it they show a card. */
  readonly picture?: string;
  /** The path of its card; without it, that of the site. */
  readonly card?: string;
  /** Scripts of the folder page/, by file name. */
  readonly scripts?: readonly string[];
  /** What the search field contains. */
  readonly search?: string;
  /** True for the wide layout. */
  readonly wide?: boolean;
  readonly body: Html;
}

/** The part of the head that previews on other sites are built from. */
const renderPreview = (site: Site, page: PageParts): Html => {
  const { title, description, path, picture, card } = page;
  const { cards } = site;
  const base = site.readUrl();
  const image = picture ?? (cards && `${base}${card ?? `/cards/site.png?v=${cards.own}`}`);
  return render`${
    path === undefined
      ? render`<meta name="robots" content="noindex">
`
      : render`<link rel="canonical" href="${base}${path}">
<meta property="og:url" content="${base}${path}">
`
  }<meta property="og:type" content="website">
<meta property="og:site_name" content="${site.settings.siteName}">
<meta property="og:title" content="${title}">
${
  description
    ? render`<meta name="description" content="${description}">
<meta property="og:description" content="${description}">
`
    : null
}${
  image
    ? render`<meta property="og:image" content="${image}">
`
    : null
}<meta name="twitter:card" content="${image && !picture ? 'summary_large_image' : 'summary'}">
`;
};

const renderBrand = ({ settings: { siteName, siteLogoUrl } }: Site): Html =>
  render`<a class="brand" href="/">${
    siteLogoUrl === '' ? null : render`<img src="${siteLogoUrl}" alt="" height="28">`
  }<span dir="auto">${siteName}</span></a>`;

const renderOwnLinks = ({ settings: { siteLinks } }: Site): readonly Html[] =>
  siteLinks.map((link) => {
    const at = link.indexOf('=');
    return render`<a href="${link.slice(at + 1)}" dir="auto">${link.slice(0, at)}</a>`;
  });

const renderSearch = (query: string): Html => render`<form role="search" action="/search">
<input type="search" name="q" value="${query}" maxlength="100" aria-label="Search"
 placeholder="Search bots, servers, packs …">
<button>Search</button>
</form>`;

/** Renders a whole page. */
export const renderPage = (site: Site, page: PageParts): Html => {
  const { siteName, sitePages } = site.settings;
  const title = page.title === siteName ? siteName : `${page.title} · ${siteName}`;
  return render`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${renderPreview(site, page)}<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/site/site.css">
${(page.scripts ?? []).map(
  (name) => render`<script type="module" src="/site/${name}"></script>
`,
)}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
${renderBrand(site)}
${sitePages === 'on' ? renderSearch(page.search ?? '') : null}
<nav aria-label="Documents"><a href="/docs/index">Documents</a><a href="/docs">API</a></nav>
</header>
<main id="main"${page.wide ? render` class="wide"` : null}>
${page.body}
</main>
<footer><span>${siteName}</span><a href="/docs">API</a><a href="/docs/behaviour">Rules</a>
<a href="/openapi.json">OpenAPI</a><a href="/llms.txt">For language models</a>${renderOwnLinks(site)}</footer>
</body>
</html>
`;
};

const errorTitles: Readonly<Record<number, string>> = {
  400: 'This address is not complete',
  404: 'There is nothing here',
  410: 'It is not here any more',
  429: 'Too many requests',
  503: 'Not available at the moment',
};

/** Builds the page that replaces the JSON of an error. */
export const replyErrorPage = (site: Site, error: DomainError, vary: string): Reply => {
  const status = errorStatuses[error.code];
  const title = errorTitles[status] ?? 'Something went wrong';
  const advice = status === 503 ? 'Nothing is lost. Try again in a moment.' : error.message;
  const body = render`<section class="card plain"><h1>${title}</h1><p>${advice}</p>
<p><a href="/">To the front page</a></p></section>`;
  const retry = Math.max(1, Math.ceil(error.retryAfterSeconds));
  return {
    status,
    text: renderPage(site, { title, body }).text,
    headers: {
      ...site.pageHeaders,
      Vary: vary,
      'Cache-Control': 'no-store',
      ...((status === 503 || status === 429) && { 'Retry-After': String(retry) }),
    },
  };
};

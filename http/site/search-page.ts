/**
 * The page of the search: a form that works without a script, and what it finds.
 */
import { entityKinds } from '../../engine/ids.ts';
import type { FoundRow, SearchPage } from '../../storage/catalogue/lists/search.ts';
import { findListings, type ListingSearch, parseSearch, searchSorts } from '../api/search.ts';
import type { App } from '../app.ts';
import type { Reply } from '../response/reply.ts';
import { formatNumber, type ListedEntity, renderEntities, toListingPath, toPackPath } from './entities.ts';
import { renderPage } from './layout.ts';
import { type Html, type HtmlValue, kindTitles, render, type Site } from './site.ts';

const sortTitles = {
  votes: 'Votes',
  clicks: 'Views',
  growth: 'Growth',
  new: 'Newest',
  name: 'Name',
} as const;

const toEntity = (row: FoundRow): ListedEntity => ({
  ...row,
  path: row.kind === 'pack' ? toPackPath(row.id) : toListingPath(row.vanity || row.id),
  size: row.kind === 'bot' ? String(row.servers) : String(row.total_members ?? ''),
  sizeLabel: row.kind === 'bot' ? 'servers' : 'members',
});

const renderOption = (value: string, title: string, chosen: string): Html =>
  render`<option value="${value}"${value === chosen ? render` selected` : null}>${title}</option>`;

const renderForm = ({ q = '', kind = '', tags = '', sort = '' }: ListingSearch): Html =>
  render`<form class="filters card" action="/search">
<label class="grow">Words<input type="search" name="q" value="${q}" maxlength="100"></label>
<label>Kind<select name="kind">${renderOption('', 'All', kind)}${entityKinds.map((each) =>
    renderOption(each, `${kindTitles[each]}s`, kind),
  )}</select></label>
<label>Tags<input name="tags" value="${tags}" maxlength="200" placeholder="fun, games"></label>
<label>First<select name="sort">${searchSorts.map((each) =>
    renderOption(each, sortTitles[each], sort || 'votes'),
  )}</select></label>
<button class="main">Search</button>
</form>`;

const toAddress = (query: ListingSearch, page: number): string => {
  const { q = '', kind = '', tags = '', sort = '' } = query;
  const given = Object.entries({ q, kind, tags, sort, page: String(page) }).filter(
    ([, value]) => value !== '',
  );
  return `/search?${new URLSearchParams(given)}`;
};

const renderPages = (query: ListingSearch, page: number, hasMore: boolean): HtmlValue => {
  if (page === 1 && !hasMore) return null;
  const renderLink = (to: number, title: string): Html =>
    render`<a class="button" href="${toAddress(query, to)}">${title}</a>`;
  return render`<nav class="pages" aria-label="Pages">
${page > 1 ? renderLink(page - 1, 'Back') : render`<span></span>`}
${hasMore ? renderLink(page + 1, 'More') : null}</nav>`;
};

const describeCount = ({ count, countIs, instead }: SearchPage): HtmlValue => {
  if (count === 0) return 'Nothing was found. Try fewer words, or a part of one.';
  const more = countIs === 'exact' ? '' : 'At least ';
  const found = `${more}${formatNumber(count)} found`;
  if (instead === null) return found;
  const { word, shown } = instead;
  return render`Nothing has exactly <b dir="auto">${word}</b>; shown: <b dir="auto">${shown}</b>. ${found}`;
};

/** Shows `GET /search` as a page. */
export const showSearchPage = async (site: Site, app: App, query: ListingSearch): Promise<Reply> => {
  const request = parseSearch(query);
  const found = await findListings(app, request);
  const { q = '' } = query;
  const entities = renderEntities(site, found.rows.map(toEntity));
  const list =
    found.rows.length === 0 ? null : render`<section class="card" aria-label="Found">${entities}</section>`;
  const body = render`<h1>${q === '' ? 'Search' : render`Search for <span dir="auto">${q}</span>`}</h1>
<p class="note">${describeCount(found)}</p>
${renderForm(query)}
${list}
${renderPages(query, request.page, found.hasMore)}`;
  const page = renderPage(site, { title: q === '' ? 'Search' : `Search for ${q}`, search: q, body });
  return { status: 200, text: page.text, headers: site.pageHeaders };
};

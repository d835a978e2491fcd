/**
 * The documents of docs/ as pages: a table of contents, a search, previous and next, code that can be copied,
 * and links that lead to the other pages. With `.md` at the end each is the file as it is. Each is read and
 * rendered at its first request.
 */
import { Type } from 'typebox';
import { readOnce } from '../response/document.ts';
import { requireFound } from '../response/errors.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import {
  findGuideSections,
  type GuideIndex,
  type GuidePage,
  readGuideIndex,
  toGuideName,
} from './guide-index.ts';
import { renderPage } from './layout.ts';
import { type Heading, renderGuide, toAnchor } from './markdown.ts';
import { type Html, render, type Site } from './site.ts';

const markdownHeaders = {
  'Content-Type': 'text/markdown; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
};
const base = 'http://docs/';

/** Finds where a link of a page leads on this server; `null` for files that it does not serve. */
const findGuideLink = ({ pages }: GuideIndex, from: string, link: string): string | null => {
  if (/^(https?:|#|\/)/.test(link)) return link;
  const { pathname, hash, origin } = new URL(link, `${base}docs/${from}`);
  if (origin !== new URL(base).origin) return null;
  if (pathname === '/docs/openapi.json') return '/openapi.json';
  if (pathname === '/http/client/README.md') return `/docs/client.md${hash}`;
  const name = toGuideName(pathname.replace('/docs/', ''));
  return pages.some((page) => page.name === name) ? `/docs/${name}${hash}` : null;
};

const renderLink = ({ name, title }: GuidePage, current = ''): Html =>
  render`<a href="/docs/${name}"${name === current ? render` aria-current="page"` : null}>${title}</a>`;

const searchForm = render`<form action="/docs/search" role="search">
<label>Search the documents <input name="q" type="search" maxlength="100" required></label></form>`;

/** Something that opens; `open`: it is open from the start. */
const renderFold = (title: string, open: boolean, items: readonly Html[]): Html =>
  render`<details${open ? render` open` : null}><summary>${title}</summary><ul>${items.map(
    (item) => render`<li>${item}</li>`,
  )}</ul></details>
`;

const renderContents = ({ pages }: GuideIndex, current: GuidePage, headings: readonly Heading[]): Html => {
  const sections = [...new Set(pages.map(({ section }) => section))].filter(Boolean);
  const anchors = headings.map(({ id, text }) => render`<a href="#${id}">${text}</a>`);
  return render`<nav class="contents" aria-label="Contents">${searchForm}
${anchors.length === 0 ? null : renderFold('On this page', true, anchors)}${sections.map((section) => {
  const ofSection = pages.filter((page) => page.section === section);
  const links = ofSection.map((page) => renderLink(page, current.name));
  return renderFold(section, section === current.section, links);
})}</nav>`;
};

const renderNeighbours = ({ pages }: GuideIndex, current: GuidePage): Html => {
  const at = pages.indexOf(current);
  const [before, after] = [pages[at - 1], pages[at + 1]];
  return render`<nav class="pages" aria-label="Neighbours"><span>${
    before === undefined ? null : render`← ${renderLink(before)}`
  }</span><span>${after === undefined ? null : render`${renderLink(after)} →`}</span></nav>`;
};

const replyPage = (site: Site, page: { title: string; path: string; body: Html }): Reply => ({
  status: 200,
  text: renderPage(site, { ...page, scripts: ['code.ts'], wide: true }).text,
  headers: site.pageHeaders,
});

const renderGuidePage = (site: Site, index: GuideIndex, page: GuidePage): Reply => {
  const { html, headings } = renderGuide(index.texts.get(page.name) ?? '', (link) =>
    findGuideLink(index, page.name, link),
  );
  const body = render`<div class="docs">${renderContents(index, page, headings)}
<article class="prose">${html}${renderNeighbours(index, page)}</article></div>`;
  return replyPage(site, { title: page.title, path: `/docs/${page.name}`, body });
};

const renderResults = (site: Site, index: GuideIndex, query: string): Reply => {
  const found = findGuideSections(index, query);
  const current = index.pages[0] as GuidePage;
  const body = render`<div class="docs">${renderContents(index, current, [])}
<article class="prose"><h1>${found.length === 0 ? 'Nothing found' : 'Found'}: ${query}</h1><ul>${found.map(
    ({ page, title }) =>
      render`<li><a href="/docs/${page.name}#${toAnchor(title)}">${page.title}: ${title}</a></li>`,
  )}</ul></article></div>`;
  return { ...replyPage(site, { title: `${query} – documents`, path: '/docs/search', body }) };
};

const name = Type.String({ maxLength: 64 });

/** Builds the readers of all pages: `install` as a page, `install.md` as the file. */
const createReaders = (site: Site, index: GuideIndex): ReadonlyMap<string, () => Promise<Reply>> =>
  new Map(
    index.pages.flatMap((page) => [
      [page.name, readOnce(async () => renderGuidePage(site, index, page))],
      [
        `${page.name}.md`,
        readOnce(async () => ({
          status: 200,
          text: index.texts.get(page.name) ?? '',
          headers: markdownHeaders,
        })),
      ],
    ]),
  );

export const buildGuideRoutes = (site: Site): readonly AnyRoute[] => {
  let opened: Promise<readonly [GuideIndex, ReturnType<typeof createReaders>]> | null = null;
  const open = () => {
    opened ??= readGuideIndex().then((index) => [index, createReaders(site, index)] as const);
    return opened;
  };
  const show = async (path: string): Promise<Reply> => {
    const [, readers] = await open();
    return requireFound(readers.get(path), 'document')();
  };
  return [
    defineDocument('guidePage', 'GET /docs/{name}', {
      summary: 'A document, as a page or as Markdown.',
      params: Type.Object({ name }),
      replies: {},
      handle: (_, { params }) => show(params.name),
    }),
    defineDocument('guidePageOfFolder', 'GET /docs/{folder}/{name}', {
      summary: 'A document of a folder, as a page or as Markdown.',
      params: Type.Object({ folder: name, name }),
      replies: {},
      handle: (_, { params }) => show(`${params.folder}/${params.name}`),
    }),
    defineDocument('guideSearch', 'GET /docs/search', {
      summary: 'The sections of documents that have some words.',
      limit: 'search',
      query: Type.Object({ q: Type.Optional(Type.String({ maxLength: 100 })) }),
      replies: {},
      handle: async (_, { query }) => renderResults(site, (await open())[0], query.q ?? ''),
    }),
  ];
};

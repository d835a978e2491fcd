/**
 * The guides of docs/ as pages: with a table of contents, code that can be copied, and links that lead to the
 * other guides. Each is read and rendered at its first request.
 */
import { readFile } from 'node:fs/promises';
import { readOnce } from '../response/document.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import { renderPage } from './layout.ts';
import { type Heading, renderGuide } from './markdown.ts';
import { type Html, render, type Site } from './site.ts';

const guides = {
  'client-guide': 'Client guide',
  behaviour: 'Behaviour',
  operating: 'Operating',
  'import-format': 'Import format',
} as const;
type GuideName = keyof typeof guides;
const names = Object.keys(guides) as readonly GuideName[];

/** Finds where a link of a guide leads on this server; `null` for files that it does not serve. */
const findGuideLink = (link: string): string | null => {
  if (/^(https?:|#)/.test(link)) return link;
  const [file = '', place] = link.split('#');
  const anchor = place === undefined ? '' : `#${place}`;
  if (file.endsWith('openapi.json')) return '/openapi.json';
  const guide = names.find((name) => file === `${name}.md` || file === `docs/${name}.md`);
  if (guide !== undefined) return `/docs/${guide}${anchor}`;
  return link.startsWith('/') ? link : null;
};

const renderContents = (current: GuideName, headings: readonly Heading[]): Html => {
  const others = names.map(
    (name) =>
      render`<li><a href="/docs/${name}"${name === current ? render` aria-current="page"` : null}>${
        guides[name]
      }</a></li>`,
  );
  return render`<nav class="contents" aria-label="Contents"><ul class="guides">${others}</ul>
<details open><summary>On this page</summary><ul>${headings.map(
    ({ id, text }) => render`<li><a href="#${id}">${text}</a></li>`,
  )}</ul></details></nav>`;
};

const readGuide = async (site: Site, name: GuideName): Promise<Reply> => {
  const text = await readFile(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
  const { html, headings } = renderGuide(text, findGuideLink);
  const body = render`<div class="docs">${renderContents(name, headings)}
<article class="prose">${html}</article></div>`;
  const page = { title: guides[name], path: `/docs/${name}`, scripts: ['code.ts'], wide: true, body };
  return { status: 200, text: renderPage(site, page).text, headers: site.pageHeaders };
};

export const buildGuideRoutes = (site: Site): readonly AnyRoute[] =>
  names.map((name) =>
    defineDocument(`guidePage_${name}`, `GET /docs/${name}`, {
      summary: `${guides[name]} as a page.`,
      replies: {},
      handle: readOnce(() => readGuide(site, name)),
    }),
  );

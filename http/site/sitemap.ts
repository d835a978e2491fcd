/**
 * `/sitemap.xml`, whose parts list the pages of all listings, and `/robots.txt`.
 */
import { Type } from 'typebox';
import type { SitemapEntry } from '../../storage/catalogue/lists/sitemap.ts';
import { partNumber } from '../api/shared/patterns.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import { toListingPath, toPackPath } from './entities.ts';
import { escapeHtml, type Site } from './site.ts';

const head = '<?xml version="1.0" encoding="UTF-8"?>\n';
const schema = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';
const xmlHeaders = {
  'Content-Type': 'application/xml; charset=utf-8',
  'Cache-Control': 'public, max-age=3600',
} as const;

const renderIndex = (url: string, parts: readonly number[]): string => {
  const entries = parts.map((part) => `<sitemap><loc>${url}/sitemaps/${part}</loc></sitemap>\n`);
  return `${head}<sitemapindex ${schema}>\n${entries.join('')}</sitemapindex>\n`;
};

const renderEntry = (url: string, { kind, name, updated_at }: SitemapEntry): string => {
  const path = kind === 'pack' ? toPackPath(name) : toListingPath(name);
  const day = updated_at.toISOString().slice(0, 10);
  return `<url><loc>${escapeHtml(url + path)}</loc><lastmod>${day}</lastmod></url>\n`;
};

const renderPart = (url: string, entries: readonly SitemapEntry[]): string =>
  `${head}<urlset ${schema}>\n${entries.map((entry) => renderEntry(url, entry)).join('')}</urlset>\n`;

/** Machines read the API; search engines read the pages. */
const buildRobots = (url: string): Reply => ({
  status: 200,
  text: `User-agent: *
Disallow: /@*/invite
Disallow: /search?
Disallow: /login
Disallow: /feed
Disallow: /users/
Allow: /

Sitemap: ${url}/sitemap.xml
`,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'public, max-age=3600' },
});

const PartParams = Type.Object({ part: Type.String({ pattern: partNumber }) });

export const buildSitemapRoutes = ({ readUrl }: Site): readonly AnyRoute[] => [
  defineDocument('sitemap', 'GET /sitemap.xml', {
    summary: 'The parts of the sitemap.',
    caching: 'no-store',
    handle: async ({ catalogue }) => ({
      status: 200,
      text: renderIndex(readUrl(), await catalogue.sitemap.parts()),
      headers: xmlHeaders,
    }),
  }),
  defineDocument('sitemapPart', 'GET /sitemaps/{part}', {
    summary: 'One part of the sitemap.',
    caching: 'no-store',
    params: PartParams,
    handle: async ({ catalogue }, { params: { part } }) => ({
      status: 200,
      text: renderPart(readUrl(), await catalogue.sitemap.entries(Number(part))),
      headers: xmlHeaders,
    }),
  }),
  defineDocument('robots', 'GET /robots.txt', {
    summary: 'What search engines may read.',
    caching: 'no-store',
    handle: () => buildRobots(readUrl()),
  }),
];

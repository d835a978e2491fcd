/**
 * The files of the pages: style, scripts and icon. Each is read, and stripped of its types, at its first
 * request.
 */
import { basename } from 'node:path';
import { buildPageHeaders, createPageFile, PageFileParams, replyPageFile } from '../response/document.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import { escapeHtml, type Site } from './site.ts';

const scripts = [
  './page/account.ts',
  './page/chart.ts',
  './page/code.ts',
  './page/front.ts',
  './page/listing.ts',
  './page/live.ts',
  './page/login.ts',
] as const;

const policy = "default-src 'none'";

const createStyle = ({ accents }: Site) =>
  createPageFile(
    ['base', 'site'].map((name) => new URL(`./page/${name}.css`, import.meta.url)),
    buildPageHeaders(policy, 'text/css; charset=utf-8'),
    (text) => text.replace('var(--accent-light)', accents.light).replace('var(--accent-dark)', accents.dark),
  );

const createScript = (path: string) =>
  createPageFile(
    [new URL(path, import.meta.url)],
    buildPageHeaders(policy, 'text/javascript; charset=utf-8'),
  );

/** Draws the icon: the first letter of the site's name on the accent colour. */
const buildIcon = ({ accents, settings: { siteName } }: Site): Reply => {
  const [letter = 'R'] = siteName;
  return {
    status: 200,
    text:
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
      `<rect width="32" height="32" rx="8" fill="${accents.light}"/>` +
      '<text x="16" y="23" text-anchor="middle" font-family="system-ui,sans-serif" font-size="20" ' +
      `font-weight="700" fill="#fff">${escapeHtml(letter.toUpperCase())}</text></svg>`,
    headers: { ...buildPageHeaders(policy, 'image/svg+xml'), 'Cache-Control': 'public, max-age=86400' },
  };
};

export const buildAssetRoutes = (site: Site): readonly AnyRoute[] => {
  const readers = new Map([
    ['site.css', createStyle(site)],
    ...scripts.map((path) => [basename(path), createScript(path)] as const),
  ]);
  const icon = buildIcon(site);
  return [
    defineDocument('siteFile', 'GET /site/{file}', {
      summary: 'A file of the pages.',
      params: PageFileParams,
      handle: (_, { params: { file } }) => replyPageFile(readers, file),
    }),
    defineDocument('siteIcon', 'GET /favicon.svg', {
      summary: 'The icon of the site.',
      handle: () => icon,
    }),
    defineDocument('siteIconOfOld', 'GET /favicon.ico', {
      summary: 'Where browsers look for an icon.',
      handle: () => ({ status: 302, headers: { Location: '/favicon.svg' } }),
    }),
  ];
};

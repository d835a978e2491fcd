/**
 * The files of the pages: style, scripts and icon. Each is read, and stripped of its types, at its first
 * request. Used by routes.ts.
 */
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { Type } from 'typebox';
import { buildPageHeaders, readOnce } from '../response/document.ts';
import { createNotFoundError } from '../response/errors.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, defineRoute } from '../route.ts';
import { escapeHtml } from './render.ts';
import type { Site } from './site.ts';

const scripts = ['account.ts', 'chart.ts', 'code.ts', 'front.ts', 'listing.ts', 'login.ts'] as const;

const policy = "default-src 'none'";

const readFileOf = (name: string): Promise<string> =>
  readFile(new URL(`./page/${name}`, import.meta.url), 'utf8');

const readStyle = async ({ accents }: Site): Promise<Reply> => ({
  status: 200,
  text: (await readFileOf('site.css'))
    .replace('var(--accent-light)', accents.light)
    .replace('var(--accent-dark)', accents.dark),
  headers: buildPageHeaders(policy, 'text/css; charset=utf-8'),
});

const readScript = async (name: string): Promise<Reply> => ({
  status: 200,
  text: stripTypeScriptTypes(await readFileOf(name)),
  headers: buildPageHeaders(policy, 'text/javascript; charset=utf-8'),
});

/** The first letter of the name on the accent. */
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

const FileParams = Type.Object({ file: Type.String({ maxLength: 32 }) });

export const buildAssetRoutes = (site: Site): readonly AnyRoute[] => {
  const readers = new Map<string, () => Promise<Reply>>([
    ['site.css', readOnce(() => readStyle(site))],
    ...scripts.map((name) => [name, readOnce(() => readScript(name))] as const),
  ]);
  const icon = buildIcon(site);
  const base = {
    section: 'Site',
    auth: { kind: 'public' },
    caching: 'entity',
    replies: { 200: Type.String() },
  } as const;
  return [
    defineRoute({
      ...base,
      name: 'siteFile',
      pattern: 'GET /site/{file}',
      summary: 'A file of the pages.',
      params: FileParams,
      handle: (_, { params: { file } }) => {
        const read = readers.get(file);
        if (read === undefined) throw createNotFoundError('file');
        return read();
      },
    }),
    defineRoute({
      ...base,
      name: 'siteIcon',
      pattern: 'GET /favicon.svg',
      summary: 'The icon of the site.',
      handle: () => icon,
    }),
    defineRoute({
      ...base,
      name: 'siteIconOfOld',
      pattern: 'GET /favicon.ico',
      summary: 'Where browsers look for an icon.',
      handle: () => ({ status: 302, headers: { Location: '/favicon.svg' } }),
    }),
  ];
};

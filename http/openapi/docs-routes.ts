/**
 * The documentation routes of the public listener: `/`, `/docs` with its scripts, and `/openapi.json`.
 *
 * They are ordinary routes, with the same matcher, limits and deadlines, but not part of the OpenAPI
 * document. The document is built once and the script is read once, both on first use. Used by facade.ts.
 */
import { readFile } from 'node:fs/promises';
import { Type } from 'typebox';
import { type AnyRoute, defineRoute, type Reply } from '../route.ts';
import { pageHtml, pagePolicy, startScript } from './docs-page.ts';
import { buildOpenApiDocument } from './document.ts';

const base = {
  method: 'GET',
  section: 'Documents',
  auth: { kind: 'public' },
  caching: 'entity',
  replies: { 200: Type.String() },
} as const;

const scriptHeaders = {
  'Content-Type': 'text/javascript; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
};

/** The API reference, gzipped from 4 MB to 1 MB by ops/setup. All browsers that can run it accept gzip. */
const referenceFile = new URL('../../node_modules/.rollcall/api-reference.js.gz', import.meta.url);

const readReference = async (): Promise<Reply> => {
  const bytes = await readFile(referenceFile);
  const headers = { ...scriptHeaders, 'Content-Encoding': 'gzip', 'Cache-Control': 'max-age=3600' };
  return { status: 200, bytes, headers };
};

const buildDocumentRoutes = (routes: readonly AnyRoute[]): readonly AnyRoute[] => {
  let document = '';
  const openApi = (): string => {
    if (document === '') document = JSON.stringify(buildOpenApiDocument(routes));
    return document;
  };
  return [
    defineRoute({
      ...base,
      name: 'root',
      path: '/',
      summary: 'Where to begin.',
      handle: () => ({ status: 200, json: { name: 'rollcall', docs: '/docs', openapi: '/openapi.json' } }),
    }),
    defineRoute({
      ...base,
      name: 'openApi',
      path: '/openapi.json',
      summary: 'The OpenAPI document.',
      handle: () => ({ status: 200, text: openApi() }),
    }),
  ];
};

const buildPageRoutes = (): readonly AnyRoute[] => {
  let reference: Promise<Reply> | null = null;
  const html = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': pagePolicy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  };
  return [
    defineRoute({
      ...base,
      name: 'docsPage',
      path: '/docs',
      summary: 'The interactive documentation.',
      handle: () => ({ status: 200, text: pageHtml, headers: html }),
    }),
    defineRoute({
      ...base,
      name: 'docsStart',
      path: '/docs/start.js',
      summary: 'Starts the documentation page.',
      handle: () => ({ status: 200, text: startScript, headers: scriptHeaders }),
    }),
    defineRoute({
      ...base,
      name: 'docsReference',
      path: '/docs/reference.js',
      summary: 'The script of the documentation page.',
      handle: () => {
        reference ??= readReference().catch((error: unknown) => {
          reference = null;
          throw error;
        });
        return reference;
      },
    }),
  ];
};

export const buildDocsRoutes = (routes: readonly AnyRoute[]): readonly AnyRoute[] => [
  ...buildDocumentRoutes(routes),
  ...buildPageRoutes(),
];

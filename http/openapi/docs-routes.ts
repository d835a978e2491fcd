/**
 * The documentation routes of the public listener: `/docs` with its scripts, `/openapi.json`,
 * `/asyncapi.json`, and the guide as Markdown for people
 * and language models (`/llms.txt`).
 *
 * They are ordinary routes, with the same matcher, limits and deadlines, but not part of the OpenAPI
 * document. Each is built or read once, on first use, with its tag.
 */
import { readFile } from 'node:fs/promises';
import { buildPageHeaders, readOnce } from '../response/document.ts';
import { type Reply, replyOk } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import { buildAsyncApiDocument } from './asyncapi.ts';
import { buildClientScript } from './client-script.ts';
import { type DemoAccounts, pageHtml, pagePolicy, startScript } from './docs-page.ts';
import { buildOpenApiDocument } from './document.ts';
import { buildLlmsText } from './llms-text.ts';

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
  const serveOpenApi = readOnce(async () => ({
    status: 200,
    text: JSON.stringify(buildOpenApiDocument(routes)),
  }));
  return [
    defineDocument('openApi', 'GET /openapi.json', {
      summary: 'The OpenAPI document.',
      handle: serveOpenApi,
    }),
    defineDocument('openApiBesideDocs', 'GET /docs/openapi.json', {
      summary: 'The OpenAPI document, where links of the guide lead.',
      handle: serveOpenApi,
    }),
    defineDocument('asyncApi', 'GET /asyncapi.json', {
      summary: 'The AsyncAPI document of the feed.',
      handle: readOnce(async () => ({ status: 200, text: JSON.stringify(buildAsyncApiDocument()) })),
    }),
  ];
};

const markdownHeaders = {
  'Content-Type': 'text/markdown; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
};

const readClientReadme = async (): Promise<Reply> => ({
  status: 200,
  text: await readFile(new URL('../client/README.md', import.meta.url), 'utf8'),
  headers: markdownHeaders,
});

const buildTextRoutes = (routes: readonly AnyRoute[]): readonly AnyRoute[] => [
  defineDocument('llmsText', 'GET /llms.txt', {
    summary: 'A short guide with all operations, for language models.',
    handle: readOnce(async () => ({ status: 200, text: buildLlmsText(routes), headers: markdownHeaders })),
  }),
  defineDocument('clientReadme', 'GET /docs/client.md', {
    summary: 'How to use the client for JavaScript.',
    handle: readOnce(readClientReadme),
  }),
];

/** Without what else the demo's file says. */
const showDemo = ({ user, second_user, bot, server, team, pack }: DemoAccounts): DemoAccounts => {
  const show = ({ id, token }: DemoAccounts['bot']) => ({ id, token });
  return {
    user: show(user),
    second_user: show(second_user),
    bot: show(bot),
    server: show(server),
    team: show(team),
    pack: { url: pack.url },
  };
};

const buildPageRoutes = (findDemo: () => DemoAccounts | null): readonly AnyRoute[] => {
  const page: Reply = { status: 200, text: pageHtml, headers: buildPageHeaders(pagePolicy) };
  const start: Reply = { status: 200, text: startScript, headers: scriptHeaders };
  return [
    defineDocument('docsPage', 'GET /docs', {
      summary: 'The interactive documentation.',
      handle: () => page,
    }),
    defineDocument('docsStart', 'GET /docs/start.js', {
      summary: 'Starts the documentation page.',
      handle: () => start,
    }),
    defineDocument('docsDemo', 'GET /docs/demo.json', {
      summary: 'The accounts of the demo, for a page on this machine.',
      caching: 'no-store',
      handle: (_, { fromLocalPage }) => {
        const demo = fromLocalPage ? findDemo() : null;
        return replyOk(demo && showDemo(demo));
      },
    }),
    defineDocument('clientScript', 'GET /docs/client.js', {
      summary: 'The client for JavaScript, as one module.',
      handle: readOnce(async () => ({ status: 200, text: buildClientScript(), headers: scriptHeaders })),
    }),
    defineDocument('docsReference', 'GET /docs/reference.js', {
      summary: 'The script of the documentation page.',
      handle: readOnce(readReference),
    }),
  ];
};

/** `findDemo` returns the accounts that the pages fill in for a visitor on this machine. */
export const buildDocsRoutes = (
  routes: readonly AnyRoute[],
  findDemo: () => DemoAccounts | null,
): readonly AnyRoute[] => [
  ...buildDocumentRoutes(routes),
  ...buildTextRoutes(routes),
  ...buildPageRoutes(findDemo),
];

/**
 * The operator's page: its document, scripts and styles, at `/` of the private listener. It asks the same
 * routes as the command line, with the operator's token.
 */
import { buildPageHeaders, createPageFile, PageFileParams, replyPageFile } from '../response/document.ts';
import { replyOk } from '../response/reply.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import type { AdminOperation } from './operation.ts';
import type { Operator } from './operators.ts';

/** No exceptions: no inline script or style, nothing from elsewhere, and no text that becomes markup. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

const plot = '../../node_modules/uplot/dist/';

/** What main.ts imports. */
const modules =
  'api audit charts dom figures filters format now operations plans queue series screens ' +
  'suspects tables votes';

/** Files by their name on the wire; several parts are joined. */
const files: Readonly<Record<string, readonly string[]>> = {
  'page.css': [`${plot}uPlot.min.css`, '../site/page/base.css', './page/page.css'],
  'uplot.js': [`${plot}uPlot.iife.min.js`],
  'main.ts': ['./page/main.ts'],
  ...Object.fromEntries(modules.split(' ').map((name) => [`${name}.ts`, [`./page/${name}.ts`]])),
};

const createReader = (parts: readonly string[], type: string) =>
  createPageFile(
    parts.map((path) => new URL(path, import.meta.url)),
    buildPageHeaders(policy, `text/${type}; charset=utf-8`),
  );

/** What forms are drawn from. */
const toPageOperation = ({ command, route, isPreviewed }: AdminOperation) => ({
  command,
  method: route.method,
  path: route.path,
  summary: route.summary,
  isPreviewed,
  params: route.params,
  query: route.query,
  body: route.body,
});

export const buildPageRoutes = (
  operations: readonly AdminOperation[],
  { operators, commandStart }: { operators: readonly Operator[]; commandStart: string },
): readonly AnyRoute[] => {
  const readPage = createReader(['./page/page.html'], 'html');
  const readers = new Map(
    Object.entries(files).map(([name, parts]) => [
      name,
      createReader(parts, name.endsWith('.css') ? 'css' : 'javascript'),
    ]),
  );
  const published = operations.map(toPageOperation);
  return [
    defineDocument('page', 'GET /', {
      summary: "The operator's page.",
      handle: readPage,
    }),
    defineDocument('pageFile', 'GET /page/{file}', {
      summary: "A file of the operator's page.",
      params: PageFileParams,
      handle: (_app, { params: { file } }) => replyPageFile(readers, file),
    }),
    defineDocument('pageOperations', 'GET /page/operations', {
      summary: 'Who the token belongs to, and the operations with their schemas.',
      caching: 'no-store',
      handle: (_app, { operator }) =>
        replyOk({
          operator,
          read_only: operators.some(({ name, readOnly }) => name === operator && readOnly),
          operations: published,
          command_start: commandStart,
        }),
    }),
  ];
};

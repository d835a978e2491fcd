/**
 * `npm run routes`: lists all routes of both listeners, or shows which route serves a request.
 *
 *   npm run routes                          method, path, callers, name, file and line of every route
 *   npm run routes -- GET /bots/123/seo     the route that serves this request, with its file and line
 *   npm run routes -- http://127.0.0.1:8080/bots/@all?page=2
 *
 * Uses the server's own matcher, so both always agree. Starts no server and opens no store.
 */
import { readFileSync } from 'node:fs';
import { type RouteFile, routeFiles } from '../../http/api/table.ts';
import type { Auth } from '../../http/auth/auth.ts';
import { buildStoreRoutes, type StoreAccess } from '../../http/operator/stores.ts';
import { operationFiles } from '../../http/operator/table.ts';
import { createMatcher, listParameterNames } from '../../http/request/match.ts';
import type { AnyRoute } from '../../http/route.ts';

/** Those of the private listener. No handler is called, so the stores need not be there. */
const operatorFiles: readonly RouteFile[] = [
  ...operationFiles.map(({ file, operations }) => ({ file, routes: operations.map(({ route }) => route) })),
  { file: 'http/operator/stores.ts', routes: buildStoreRoutes({} as StoreAccess) },
];

const usage = 'Usage: npm run routes [-- [METHOD] PATH-OR-URL], for example GET /bots/123';

const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** Returns the text for the terminal, and whether it is an answer. `args` are the command's arguments. */
export const describeRoutes = (args: readonly string[]): { text: string; found: boolean } => {
  const publicRoutes = locateRoutes(routeFiles);
  const operatorRoutes = locateRoutes(operatorFiles);
  if (args.length === 0) {
    const tables = [
      formatTable(publicRoutes, 'operations'),
      formatTable(operatorRoutes, 'operations of the private listener'),
    ];
    return { text: tables.join('\n\n'), found: true };
  }
  if (args.includes('--help') || args.includes('-h')) return { text: usage, found: true };
  const request = parseRequest(args);
  if (request === null) return { text: usage, found: false };
  const served = findServingRoute(publicRoutes, request);
  const byOperator = findServingRoute(operatorRoutes, request);
  if (!byOperator.found) return served;
  const text = `On the private listener: ${byOperator.text}`;
  return { text: served.found ? `${served.text}\n\n${text}` : text, found: true };
};

/** Adds to each route where it is defined: `http/api/bots/routes.ts:42`. */
const locateRoutes = (files: readonly RouteFile[]) =>
  files.flatMap(({ file, routes }) => {
    const lines = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n');
    const operations = lines.map(readOperation);
    return routes.map((route) => {
      const index = lines.findIndex(
        (line, at) =>
          line.includes(`Route('${route.name}', `) || operations[at]?.test(`${route.method} ${route.path}`),
      );
      return { route, location: `${file}:${index + 1}` };
    });
  });

type LocatedRoute = ReturnType<typeof locateRoutes>[number];

/** What the path of a line that defines an operation matches: it may be a template. */
const readOperation = (line: string): RegExp | null => {
  const [, text] = /define(?:Operation|Deletion|List)\(['`][^'`]+['`], ['`](.+?)['`], /.exec(line) ?? [];
  if (text === undefined) return null;
  const literals = text.split(/\$\{\w+\}/).map((part) => part.replace(/[{}]/g, '\\$&'));
  return new RegExp(`^${literals.join('[a-z-]+')}$`);
};

/** The method is `null` for all methods of the path. */
const parseRequest = (args: readonly string[]) => {
  const rest = [...args];
  const method = methods.includes(rest[0]?.toUpperCase() ?? '')
    ? (rest.shift() as string).toUpperCase()
    : null;
  const [target, ...more] = rest;
  if (target === undefined || more.length > 0) return null;
  // Not parsed with URL, which would resolve dots and encode characters before the matcher sees them.
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  if (path === '' && /^https?:/i.test(target)) return { method, path: '/' };
  return path.startsWith('/') ? { method, path } : null;
};
type RouteRequest = NonNullable<ReturnType<typeof parseRequest>>;

const findServingRoute = (located: readonly LocatedRoute[], { method, path }: RouteRequest) => {
  const matcher = createMatcher(located);
  const anyMethod = matcher.find('OPTIONS', path);
  if (anyMethod === null) {
    const others = 'unless it is a document, a page, a health check or a path of COMPAT=on';
    return { text: `No operation serves ${path}: 404 route_not_found, ${others}.`, found: false };
  }
  if (method === 'OPTIONS')
    return { text: `OPTIONS ${path}: answered by http/response/cors.ts`, found: true };
  const wanted = method === null ? methods.filter((name) => name !== 'HEAD') : [method];
  const found = wanted.flatMap((name) => {
    const match = matcher.find(name, path);
    return match?.route === undefined ? [] : [describe(match.route, match.values)];
  });
  if (found.length > 0) return { text: found.join('\n\n'), found: true };
  const text = `${path} has no ${method}: 405 method_not_allowed. It has ${anyMethod.allow}.`;
  return { text, found: false };
};

const describe = ({ route, location }: LocatedRoute, values: readonly string[]): string => {
  const parameters = listParameterNames(route.path).map((name, index) => `${name}=${values[index]}`);
  const codes = route.errors.join(', ') || 'common codes only';
  return [
    location,
    `  ${route.method} ${route.path}  ${route.name}`,
    `  ${route.summary}`,
    ...(parameters.length > 0 ? [`  parameters: ${parameters.join(', ')}`] : []),
    `  called by: ${describeCallers(route)}`,
    `  replies: ${Object.keys(route.replies).join(', ')}; error codes: ${codes}`,
  ].join('\n');
};

const describeCallers = ({ auth, section }: AnyRoute): string =>
  section === 'Operator' ? "an operator's token" : describeAuth(auth);

const describeAuth = (auth: Auth): string => {
  if ('kinds' in auth) return `${auth.kinds.join('|')} with ${auth.permission}`;
  return auth.kind === 'self' ? 'the user in the path' : auth.kind;
};

const formatTable = (located: readonly LocatedRoute[], noun: string): string => {
  const cells = located.map(({ route, location }) => [
    route.method,
    route.path,
    describeCallers(route),
    route.name,
    location,
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const rows = cells.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${rows.join('\n')}\n\n${located.length} ${noun}`;
};

if (import.meta.main) {
  const { text, found } = describeRoutes(process.argv.slice(2));
  console.log(text);
  process.exitCode = found ? 0 : 1;
}

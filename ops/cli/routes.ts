/**
 * `npm run routes`: the table of all operations, or who serves one request.
 *
 *   npm run routes                          method, path, who may call, name, file and line of every row
 *   npm run routes -- GET /bots/123/seo     the row that serves this request, and where it stands
 *   npm run routes -- http://127.0.0.1:8080/bots/@all?page=2
 *
 * Uses the server's own matcher, so that it cannot disagree with it. Starts nothing, opens nothing.
 */
import { readFileSync } from 'node:fs';
import { createMatcher, listParameterNames } from '../../http/request/match.ts';
import type { AnyRoute, Auth } from '../../http/route.ts';
import { routeFiles } from '../../http/routes/table.ts';

interface RoutePlace {
  readonly row: AnyRoute;
  /** `http/routes/bots.ts:42` */
  readonly at: string;
}

const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** Words for the terminal, and whether something was found. `words` are the command's arguments. */
export const describeRoutes = (words: readonly string[]): { text: string; found: boolean } => {
  const places = listPlaces();
  if (words.length === 0) return { text: formatTable(places), found: true };
  const request = parseRequest(words);
  if (request === null) {
    return {
      text: 'Usage: npm run routes [-- [METHOD] PATH-OR-URL], for example GET /bots/123',
      found: false,
    };
  }
  return findServingRoute(places, request);
};

const listPlaces = (): RoutePlace[] =>
  routeFiles.flatMap(({ file, routes }) => {
    const lines = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n');
    return routes.map((route) => {
      const index = lines.findIndex((line) => new RegExp(`\\bname: '${route.name}'`).test(line));
      return { row: route, at: `${file}:${index + 1}` };
    });
  });

interface RouteRequest {
  /** `null` asks for all methods of the path. */
  readonly method: string | null;
  readonly path: string;
}

const parseRequest = (words: readonly string[]): RouteRequest | null => {
  const rest = [...words];
  const method = methods.includes(rest[0]?.toUpperCase() ?? '')
    ? (rest.shift() as string).toUpperCase()
    : null;
  const [target, ...more] = rest;
  if (target === undefined || more.length > 0) return null;
  // Cut by hand: URL would resolve dots and encode characters before the matcher sees them.
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  if (path === '' && /^https?:/i.test(target)) return { method, path: '/' };
  return path.startsWith('/') ? { method, path } : null;
};

const findServingRoute = (
  places: readonly RoutePlace[],
  { method, path }: RouteRequest,
): { text: string; found: boolean } => {
  const entries = places.map((place) => ({ method: place.row.method, path: place.row.path, route: place }));
  const matcher = createMatcher(entries);
  const known = matcher.find('OPTIONS', path);
  if (known === null) return { text: `Nothing serves ${path}: 404 route_not_found.`, found: false };
  if (method === 'OPTIONS')
    return { text: `OPTIONS ${path}: answered by http/response/cors.ts`, found: true };
  const asked = method === null ? methods.filter((one) => one !== 'HEAD') : [method];
  const found = asked.flatMap((one) => {
    const match = matcher.find(one, path);
    return match?.route === undefined ? [] : [describe(match.route, match.values)];
  });
  if (found.length > 0) return { text: found.join('\n\n'), found: true };
  const words = `${path} has no ${method}: 405 method_not_allowed. It has ${known.allow}.`;
  return { text: words, found: false };
};

const describe = ({ row: route, at }: RoutePlace, values: readonly string[]): string => {
  const parameters = listParameterNames(route.path).map((name, index) => `${name}=${values[index]}`);
  const refusals = route.errors.join(', ') || 'common codes';
  return [
    at,
    `  ${route.method} ${route.path}  ${route.name}`,
    `  ${route.summary}`,
    ...(parameters.length > 0 ? [`  with ${parameters.join(', ')}`] : []),
    `  called by: ${describeAuth(route.auth)}`,
    `  answers: ${Object.keys(route.replies).join(', ')}; refuses with ${refusals}`,
  ].join('\n');
};

const describeAuth = (auth: Auth): string => {
  if ('kinds' in auth) return `${auth.kinds.join('|')} with ${auth.permission}`;
  return auth.kind === 'self' ? 'user himself' : auth.kind;
};

const formatTable = (places: readonly RoutePlace[]): string => {
  const cells = places.map(({ row: route, at }) => [
    route.method,
    route.path,
    describeAuth(route.auth),
    route.name,
    at,
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const rows = cells.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${rows.join('\n')}\n\n${places.length} operations`;
};

if (import.meta.main) {
  const { text, found } = describeRoutes(process.argv.slice(2));
  console.log(text);
  process.exitCode = found ? 0 : 1;
}

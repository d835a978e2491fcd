/**
 * Accepts or rejects a request's parameters, query and body, with checks compiled from the route's schemas.
 * TypeBox checks in nanoseconds but gives no reasons; explain.ts (Ajv) finds them when a check fails.
 *
 * `compileRoute` prepares a route once, at start.
 */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import {
  createTwoGenerationCache,
  type TwoGenerationCache,
} from '../../engine/tools/two-generation-cache.ts';
import type { AnyRoute } from '../route.ts';
import { coerceQuery, explain } from './explain.ts';
import { registerFormats } from './formats.ts';
import { listParameterNames } from './match.ts';
import { withVisibleMinimums } from './minimums.ts';
import { parseQuery } from './query.ts';

registerFormats();

type SchemaCheck = (value: unknown) => boolean;
type CheckedQuery = Readonly<Record<string, unknown>>;

/** Parsed queries that stay cached per route; at most twice as many are. */
const cachedQueriesMax = 32;
/** A longer query is parsed each time. */
const cachedCharactersMax = 64;

export interface CompiledRoute {
  readonly route: AnyRoute;
  /** Position in the route table: the index of its metrics. */
  readonly index: number;
  readonly parameters: readonly string[];
  /** Position of the parameter that names a kind of entity (its trailing `s` is dropped), -1 for none. */
  readonly kindParameterIndex: number;
  readonly checkParams: SchemaCheck | null;
  readonly queryNames: ReadonlySet<string>;
  /** Recently parsed queries by their text: most requests have none, or one of a few. */
  readonly cachedQueries: TwoGenerationCache<CheckedQuery>;
  readonly checkBody: SchemaCheck | null;
}

export const compileCheck = (schema: TSchema): SchemaCheck => {
  const validator = Compile(withVisibleMinimums(schema));
  return (value) => validator.Check(value);
};

/** Prepares a route. Throws when its path and its parameter schema disagree. */
export const compileRoute = (route: AnyRoute, index: number): CompiledRoute => {
  const parameters = listParameterNames(route.path);
  const declared = Object.keys(route.params.properties);
  if (parameters.length !== declared.length || parameters.some((name) => !declared.includes(name))) {
    throw new Error(`route ${route.name}: the path names {${parameters}}, its schema {${declared}}`);
  }
  return {
    route,
    index,
    parameters,
    kindParameterIndex: parameters.indexOf('target_type'),
    checkParams: parameters.length === 0 ? null : compileCheck(route.params),
    queryNames: new Set(Object.keys(route.query?.properties ?? {})),
    cachedQueries: createTwoGenerationCache(cachedQueriesMax),
    checkBody: route.body === undefined ? null : compileCheck(route.body),
  };
};

/** Where a request names a kind, `bots` means `bot` (contract §4 rule 3). */
const toKindName = (text: string): string =>
  text.length > 1 && text.endsWith('s') ? text.slice(0, -1) : text;

/** Names the matched segments. */
export const nameParams = (compiled: CompiledRoute, values: readonly string[]): Record<string, string> => {
  const params: Record<string, string> = {};
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as string;
    params[compiled.parameters[index] as string] =
      index === compiled.kindParameterIndex ? toKindName(value) : value;
  }
  return params;
};

/** Throws `validation_failed` or `target_type_unsupported` that names the parameter. */
export const checkParams = (compiled: CompiledRoute, params: Record<string, string>): void => {
  if (compiled.checkParams === null || compiled.checkParams(params)) return;
  throw explain('path', compiled.route.params, { value: params, bytes: 0 });
};

const emptyQuery: CheckedQuery = Object.freeze({});

/**
 * Returns the checked, coerced query: a frozen object shared by all requests with this text. Throws
 * `validation_failed` or `page_invalid`.
 */
export const readQuery = (compiled: CompiledRoute, text: string): CheckedQuery => {
  if (compiled.queryNames.size === 0) return emptyQuery;
  const cached = compiled.cachedQueries.get(text);
  if (cached !== undefined) return cached;
  const query = parseQuery(text, compiled.queryNames);
  if (query.target_type !== undefined) query.target_type = toKindName(query.target_type);
  coerceQuery(compiled.route.query, query);
  Object.freeze(query);
  if (text.length <= cachedCharactersMax) compiled.cachedQueries.set(text, query);
  return query;
};

/** Throws `validation_failed` that names up to 16 fields. */
export const checkBody = (compiled: CompiledRoute, body: unknown, bytes: number): void => {
  if (compiled.checkBody === null || compiled.checkBody(body)) return;
  throw explain('body', compiled.route.body, { value: body, bytes });
};

/**
 * Accepts or rejects what came in, by the checkers compiled from a row's schemas. TypeBox's half of the two
 * validators: a check takes nanoseconds and gives no words; explain.ts finds them when one fails.
 *
 * `compileRoute` prepares a row once, at start. Called by dispatch.ts.
 */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import {
  createTwoGenerationCache,
  type TwoGenerationCache,
} from '../../engine/tools/two-generation-cache.ts';
import type { AnyRoute } from '../route.ts';
import { withVisibleMinimums } from '../schema/minimums.ts';
import { coerceQuery, explain } from './explain.ts';
import { listParameterNames } from './match.ts';
import { parseQuery } from './query.ts';

type SchemaCheck = (value: unknown) => boolean;
type CheckedQuery = Readonly<Record<string, unknown>>;

/** Queries remembered by each row, twice as many at most; a longer one is read anew each time. */
const cachedQueriesMax = 32;
const cachedCharactersMax = 64;

export interface CompiledRoute {
  readonly route: AnyRoute;
  /** Position in the table: the index of its meters. */
  readonly index: number;
  readonly parameters: readonly string[];
  /** Position of the parameter that names a kind of entity (its trailing `s` is dropped), -1 for none. */
  readonly kindParameterIndex: number;
  readonly checkParams: SchemaCheck | null;
  readonly queryNames: ReadonlySet<string>;
  /** Queries read lately, by their text: most are none, or a few words that come again and again. */
  readonly cachedQueries: TwoGenerationCache<CheckedQuery>;
  readonly checkBody: SchemaCheck | null;
}

/** The gate of one schema. */
export const compileCheck = (schema: TSchema): SchemaCheck => {
  const validator = Compile(withVisibleMinimums(schema));
  return (value) => validator.Check(value);
};

/** Prepares a row. Throws when its path and its parameter schema disagree. */
export const compileRoute = (route: AnyRoute, index: number): CompiledRoute => {
  const parameters = listParameterNames(route.path);
  const known = Object.keys(route.params.properties);
  if (parameters.length !== known.length || parameters.some((name) => !known.includes(name))) {
    throw new Error(`row ${route.name}: the path names {${parameters}}, its schema {${known}}`);
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

/** Names the matched segments. `bots` counts as `bot` where the path names a kind (contract §4 rule 3). */
export const nameParams = (compiled: CompiledRoute, values: readonly string[]): Record<string, string> => {
  const params: Record<string, string> = {};
  for (let index = 0; index < values.length; index++) {
    let value = values[index] as string;
    if (index === compiled.kindParameterIndex && value.length > 1 && value.endsWith('s'))
      value = value.slice(0, -1);
    params[compiled.parameters[index] as string] = value;
  }
  return params;
};

/** Throws `validation_failed` naming the parameter. */
export const checkParams = (compiled: CompiledRoute, params: Record<string, string>): void => {
  if (compiled.checkParams === null || compiled.checkParams(params)) return;
  throw explain('path', compiled.route.params, { value: params, bytes: 0 });
};

const emptyQuery: CheckedQuery = Object.freeze({});

/**
 * The checked, coerced query, shared by all requests with this text. Throws `validation_failed` or
 * `page_invalid`.
 */
export const readQuery = (compiled: CompiledRoute, text: string): CheckedQuery => {
  if (compiled.queryNames.size === 0) return emptyQuery;
  const known = compiled.cachedQueries.get(text);
  if (known !== undefined) return known;
  const query = parseQuery(text, compiled.queryNames);
  coerceQuery(compiled.route.query, query);
  Object.freeze(query);
  if (text.length <= cachedCharactersMax) compiled.cachedQueries.set(text, query);
  return query;
};

/** Throws `validation_failed` with up to 16 fields. */
export const checkBody = (compiled: CompiledRoute, body: unknown, bytes: number): void => {
  if (compiled.checkBody === null || compiled.checkBody(body)) return;
  throw explain('body', compiled.route.body, { value: body, bytes });
};

/**
 * Accepts or rejects what came in, by the checkers compiled from a row's schemas. TypeBox's half of the two
 * validators: a check takes nanoseconds and gives no words; explain.ts finds them when one fails.
 *
 * `compileRow` prepares a row once, at start. Called by dispatch.ts.
 */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { createRecent, type Recent } from '../engine/recent.ts';
import { coerceQuery, explain } from './explain.ts';
import { parameterNames } from './match.ts';
import { parseQuery } from './query.ts';
import type { AnyRow } from './route.ts';
import { withVisibleMinimums } from './schema/minimums.ts';

type Check = (value: unknown) => boolean;
type Query = Readonly<Record<string, unknown>>;

/** Queries remembered by each row, twice as many at most; a longer one is read anew each time. */
const recentQueriesMax = 32;
const recentCharactersMax = 64;

export interface CompiledRow {
  readonly row: AnyRow;
  /** Position in the table: the index of its meters. */
  readonly index: number;
  readonly parameters: readonly string[];
  /** Position of the parameter that names a kind of entity (its trailing `s` is dropped), -1 for none. */
  readonly kindParameter: number;
  readonly checkParams: Check | null;
  readonly queryNames: ReadonlySet<string>;
  /** Queries read lately, by their text: most are none, or a few words that come again and again. */
  readonly recentQueries: Recent<Query>;
  readonly checkBody: Check | null;
}

/** The gate of one schema. */
export const checker = (schema: TSchema): Check => {
  const validator = Compile(withVisibleMinimums(schema));
  return (value) => validator.Check(value);
};

/** Prepares a row. Throws when its path and its parameter schema disagree. */
export const compileRow = (row: AnyRow, index: number): CompiledRow => {
  const parameters = parameterNames(row.path);
  const known = Object.keys(row.params.properties);
  if (parameters.length !== known.length || parameters.some((name) => !known.includes(name))) {
    throw new Error(`row ${row.name}: the path names {${parameters}}, its schema {${known}}`);
  }
  return {
    row,
    index,
    parameters,
    kindParameter: parameters.indexOf('target_type'),
    checkParams: parameters.length === 0 ? null : checker(row.params),
    queryNames: new Set(Object.keys(row.query?.properties ?? {})),
    recentQueries: createRecent(recentQueriesMax),
    checkBody: row.body === undefined ? null : checker(row.body),
  };
};

/** Names the matched segments. `bots` counts as `bot` where the path names a kind (contract §4 rule 3). */
export const nameParams = (compiled: CompiledRow, values: readonly string[]): Record<string, string> => {
  const params: Record<string, string> = {};
  for (let index = 0; index < values.length; index++) {
    let value = values[index] as string;
    if (index === compiled.kindParameter && value.length > 1 && value.endsWith('s'))
      value = value.slice(0, -1);
    params[compiled.parameters[index] as string] = value;
  }
  return params;
};

/** Throws `validation_failed` naming the parameter. */
export const checkParams = (compiled: CompiledRow, params: Record<string, string>): void => {
  if (compiled.checkParams === null || compiled.checkParams(params)) return;
  throw explain('path', compiled.row.params, { value: params, bytes: 0 });
};

const noQuery: Query = Object.freeze({});

/**
 * The checked, coerced query, shared by all requests with this text. Throws `validation_failed` or
 * `page_invalid`.
 */
export const readQuery = (compiled: CompiledRow, text: string): Query => {
  if (compiled.queryNames.size === 0) return noQuery;
  const known = compiled.recentQueries.get(text);
  if (known !== undefined) return known;
  const query = parseQuery(text, compiled.queryNames);
  coerceQuery(compiled.row.query, query);
  Object.freeze(query);
  if (text.length <= recentCharactersMax) compiled.recentQueries.set(text, query);
  return query;
};

/** Throws `validation_failed` with up to 16 fields. */
export const checkBody = (compiled: CompiledRow, body: unknown, bytes: number): void => {
  if (compiled.checkBody === null || compiled.checkBody(body)) return;
  throw explain('body', compiled.row.body, { value: body, bytes });
};

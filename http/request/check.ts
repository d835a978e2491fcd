/**
 * Accepts or rejects a request's parameters, query and body, with checks compiled from the route's schemas.
 * TypeBox checks in nanoseconds but gives no reasons; explain.ts (Ajv) finds them when a check fails.
 *
 * `compileRoute` prepares a route once, at start.
 *
 * A query is parsed into the names that its route declares: unknown names are ignored, the last of a repeated
 * name counts, a plus sign is a space. Malformed percent-encoding is a 400. Values stay strings until
 * explain.ts coerces them.
 *
 * A minimum length of text counts what a reader sees (engine/rules/text.ts), so text that shows nothing is
 * refused wherever there is a minimum. It applies to every `minLength` of every schema, so no field can be
 * forgotten. A maximum counts every character, because every one is stored.
 *
 * `parseBody` owns what no schema can express: one JSON text and nothing else, at most 32 levels deep, no
 * more values than the operation can use, strings that are well-formed Unicode without NUL, no `__proto__`
 * member. Values are counted in the text before it is parsed: building 60,000 members takes 44 ms, counting
 * them takes one. Of duplicate keys the last counts, as in JSON.parse. Numbers are plain numbers here; a
 * handler that needs exact integers beyond 2^53 reads `request.bodyText`.
 */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { DomainError } from '../../engine/errors.ts';
import { isVisiblyLong } from '../../engine/rules/text.ts';
import {
  createTwoGenerationCache,
  type TwoGenerationCache,
} from '../../engine/tools/two-generation-cache.ts';
import { createValidationError, escapePointer } from '../response/errors.ts';
import type { AnyRoute, BodyLimits } from '../route.ts';
import { coerceQuery, explain } from './explain.ts';
import { registerFormats } from './formats.ts';
import { listParameterNames } from './match.ts';

type Node = Readonly<Record<string, unknown>>;

const addVisibleMinimum = (node: Node, min: number): Node => ({
  ...node,
  '~refine': [{ check: (text: unknown) => isVisiblyLong(text as string, min), error: () => 'too short' }],
});

const expand = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value.map(expand);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const node = value as Node;
  const entries = Object.entries(node).map(([key, member]) => [
    key,
    key === 'examples' ? member : expand(member),
  ]);
  const isUnchanged = entries.every(([key, member]) => node[key as string] === member);
  const expanded = isUnchanged ? node : (Object.fromEntries(entries) as Node);
  const min = node.type === 'string' ? node.minLength : 0;
  return typeof min === 'number' && min > 0 ? addVisibleMinimum(expanded, min) : expanded;
};

/** Returns the schema for TypeBox to compile; the same object if it has no minimum length of text. */
export const withVisibleMinimums = (schema: TSchema): TSchema => expand(schema) as TSchema;

/** `name` is the parameter, `''` while it is not known: then the pointer names the whole query. */
const createTextError = (name: string): DomainError =>
  createValidationError('query', {
    [name === '' ? '' : `/${escapePointer(name)}`]: 'must be percent-encoded UTF-8 text without NUL',
  });

const decodeQueryText = (raw: string, name = ''): string => {
  const spaced = raw.includes('+') ? raw.replaceAll('+', ' ') : raw;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw createTextError(name);
  }
};

/** Returns the values of the known names. Throws `validation_failed`. */
const parseQuery = (text: string, known: ReadonlySet<string>): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = decodeQueryText(equals === -1 ? pair : pair.slice(0, equals));
    if (!known.has(name)) continue;
    const value = equals === -1 ? '' : decodeQueryText(pair.slice(equals + 1), name);
    if (value.includes('\u0000') || !value.isWellFormed()) throw createTextError(name);
    values[name] = value;
  }
  return values;
};

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

/** Creates a check that is compiled at its first use: compiling all of them would add 40 ms to a start. */
export const compileCheck = (schema: TSchema): SchemaCheck => {
  let validator: ReturnType<typeof Compile> | undefined;
  return (value) => {
    validator ??= Compile(withVisibleMinimums(schema));
    return validator.Check(value);
  };
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

export const bodyDepthMax = 32;

/** For operations without bounds of their own: several times the size of their largest bodies. */
export const usualBodyLimits: BodyLimits = {
  bytesMax: Number.POSITIVE_INFINITY,
  fieldsMax: 4_096,
  valuesMax: 4_096,
};

const createMalformedError = (why: string): DomainError => new DomainError('malformed_json', why);

const createTooDeepError = (): DomainError =>
  createMalformedError(`The body is nested deeper than ${bodyDepthMax} levels.`);
const createTooManyError = (max: number, what: string): DomainError =>
  new DomainError('validation_failed', `The body has more than ${max} ${what}.`, {
    '': `must have at most ${max} ${what}`,
  });

const backslash = 0x5c;

/** Index of the closing quote of the string that begins at `start`, the text's length when there is none. */
const findStringEnd = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
};

/** Lower bounds of the characters of an object's field (`"":0,`) and of a value in an array (`0,`). */
const memberCharacters = 4;
const valueCharacters = 2;

/**
 * Counts commas and opening brackets as values, and top-level colons as fields. The parser decides later
 * whether the text is JSON.
 */
const countValues = (text: string, limits: BodyLimits): void => {
  let values = 0;
  let fields = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = findStringEnd(text, at);
        break;
      case 0x2c: // ,
        values++;
        break;
      case 0x3a: // :
        if (depth === 1 && ++fields > limits.fieldsMax) throw createTooManyError(limits.fieldsMax, 'fields');
        break;
      case 0x5b: // [
      case 0x7b: // {
        values++;
        if (++depth > bodyDepthMax) throw createTooDeepError();
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      default:
        continue;
    }
    if (values > limits.valuesMax) throw createTooManyError(limits.valuesMax, 'values');
  }
};

const inspectText = (text: string): void => {
  if (!text.isWellFormed()) throw createMalformedError('A string in the body has half of a surrogate pair.');
  if (text.includes('\u0000')) throw createMalformedError('A string in the body has a NUL character.');
};

const inspectMembers = (value: Record<string, unknown>, depth: number, escaped: boolean): void => {
  for (const key in value) {
    if (key === '__proto__') {
      delete value[key];
      continue;
    }
    if (escaped) inspectText(key);
    const member = value[key];
    if (typeof member === 'object' && member !== null) inspect(member, depth + 1, escaped);
    else if (escaped && typeof member === 'string') inspectText(member);
  }
};

/** Recursion is bounded by `bodyDepthMax`. Strings are checked only when the text has `\u` escapes. */
const inspect = (value: object, depth: number, escaped: boolean): void => {
  if (depth > bodyDepthMax) throw createTooDeepError();
  if (!Array.isArray(value)) {
    inspectMembers(value as Record<string, unknown>, depth, escaped);
    return;
  }
  for (const member of value) {
    if (typeof member === 'object' && member !== null) inspect(member, depth + 1, escaped);
    else if (escaped && typeof member === 'string') inspectText(member);
  }
};

/** Parses a body. Throws `malformed_json` or `validation_failed` with a message for the client. */
export const parseBody = (text: string, limits: BodyLimits = usualBodyLimits): unknown => {
  if (text === '') throw createMalformedError('The body is empty; a JSON object is needed.');
  // Most bodies are too short to exceed the limits.
  if (text.length > Math.min(limits.fieldsMax * memberCharacters, limits.valuesMax * valueCharacters)) {
    countValues(text, limits);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw createMalformedError(`The body is not JSON: ${(error as Error).message}.`);
  }
  const escaped = text.includes('\\u');
  if (typeof value === 'object' && value !== null) inspect(value, 1, escaped);
  else if (escaped && typeof value === 'string') inspectText(value);
  return value;
};

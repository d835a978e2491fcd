/**
 * Words for a rejected request, and the coercion of query strings. Ajv's half of the two validators:
 * check.ts (TypeBox) decides about bodies, this file says what was wrong with them.
 *
 * Queries and path parameters are all strings, so Ajv coerces them and fills in defaults. An explanation has
 * at most 16 entries, keyed by JSON Pointer. Ajv is loaded and schemas are compiled on first use: that takes
 * milliseconds, an explanation microseconds.
 */
import { createRequire } from 'node:module';
import type { SchemaValidateFunction } from 'ajv';
import type { Ajv2020, ErrorObject, FuncKeywordDefinition, ValidateFunction } from 'ajv/dist/2020.js';
import type addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { isVisiblyLong } from '../../engine/rules/text.ts';
import { createValidationError, escapePointer, explainedFieldsMax } from '../response/validation-error.ts';
import { patternMessages } from './patterns.ts';

/** Larger bodies get the first fault only, so that explaining a flood of faults stays cheap. */
const explainAllBytesMax = 16_384;

const require = createRequire(import.meta.url);

/** Text far over its maximum is refused for that, whatever its ends are. */
const isFarTooLong = (text: string, max: unknown): boolean =>
  typeof max === 'number' && text.length > 2 * max;

const checkMinimum: SchemaValidateFunction = (
  min: number,
  text: string,
  parent?: { readonly [word: string]: unknown },
) => {
  if (isFarTooLong(text, parent?.maxLength) || isVisiblyLong(text, min)) return true;
  // With the ends it would do: only then are they worth a word.
  checkMinimum.errors = [{ keyword: 'minLength', params: { limit: min, blanks: text.length >= min } }];
  return false;
};

/** `minLength` as schema/minimums.ts means it, in place of Ajv's own. */
const minLengthKeyword: FuncKeywordDefinition = {
  keyword: 'minLength',
  type: 'string',
  schemaType: 'number',
  errors: true,
  validate: checkMinimum,
};

const createAjv = (options: { allErrors: boolean; coerceTypes: boolean }): Ajv2020 => {
  const { Ajv2020 }: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js');
  const formats: typeof addFormats = require('ajv-formats');
  const ajv = new Ajv2020({ ...options, useDefaults: options.coerceTypes, strict: false });
  formats.default(ajv);
  ajv.removeKeyword('minLength');
  ajv.addKeyword(minLengthKeyword);
  return ajv;
};

const validatorOptions = {
  all: { allErrors: true, coerceTypes: false },
  first: { allErrors: false, coerceTypes: false },
  coercing: { allErrors: true, coerceTypes: true },
};
type ValidatorName = keyof typeof validatorOptions;

/** Made when they are first needed. */
const validators: Partial<Record<ValidatorName, Ajv2020>> = {};

const compiledSchemas: Record<ValidatorName, WeakMap<TSchema, ValidateFunction>> = {
  all: new WeakMap(),
  first: new WeakMap(),
  coercing: new WeakMap(),
};

const compileSchema = (clerk: ValidatorName, schema: TSchema): ValidateFunction => {
  const known = compiledSchemas[clerk];
  validators[clerk] ??= createAjv(validatorOptions[clerk]);
  const validate = known.get(schema) ?? validators[clerk].compile(schema);
  known.set(schema, validate);
  return validate;
};

const formatCount = (count: number, one: string, several: string): string =>
  `${count} ${count === 1 ? one : several}`;
const formatCharacters = (count: number): string => formatCount(count, 'character', 'characters');
const formatEntries = (count: number): string => formatCount(count, 'entry', 'entries');

const formatList = (values: unknown): string =>
  (Array.isArray(values) ? values : [values]).map((value) => JSON.stringify(value)).join(', ');

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};
const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  uri: 'a URL',
  'date-time': 'an RFC 3339 timestamp',
};

const besidesBlanks = ', not counting blanks and invisible ones at its ends';

/** One fault in a sentence: what is allowed. */
const describeFault = (error: ErrorObject): string => {
  const { keyword, params } = error;
  switch (keyword) {
    case 'required':
      return 'is missing';
    case 'type':
      return `must be ${[params.type]
        .flat()
        .map((type) => typeNames[type] ?? type)
        .join(' or ')}`;
    case 'enum':
      return `must be one of ${formatList(params.allowedValues)}`;
    case 'const':
      return `must be ${formatList(params.allowedValue)}`;
    case 'minLength':
      return `must have at least ${formatCharacters(params.limit)}${params.blanks ? besidesBlanks : ''}`;
    case 'maxLength':
      return `must have at most ${formatCharacters(params.limit)}`;
    case 'minItems':
      return `must have at least ${formatEntries(params.limit)}`;
    case 'maxItems':
      return `must have at most ${formatEntries(params.limit)}`;
    case 'minimum':
      return `must be ${params.limit} or more`;
    case 'maximum':
      return `must be ${params.limit} or less`;
    case 'uniqueItems':
      return 'must not repeat an entry';
    case 'pattern':
      return patternMessages[params.pattern] ?? `must match ${params.pattern}`;
    case 'format':
      return `must be ${formatNames[params.format] ?? params.format}`;
    default:
      return error.message ?? 'is not allowed';
  }
};

/** The JSON Pointer of the whole body (RFC 6901). */
const wholePointer = '';

const toPointer = (error: ErrorObject): string =>
  error.keyword === 'required'
    ? `${error.instancePath}/${escapePointer(error.params.missingProperty)}`
    : error.instancePath;

/** The `context` entries of a rejection: pointer to words, at most 16. */
export const describeFaults = (errors: readonly ErrorObject[]): Record<string, string> => {
  const words: Record<string, string> = {};
  let count = 0;
  for (const error of errors) {
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf') continue;
    const pointer = toPointer(error).slice(0, 200);
    const known = words[pointer];
    if (known === undefined && ++count > explainedFieldsMax) break;
    const said = describeFault(error);
    if (known === undefined) words[pointer] = said;
    else if (!known.includes(said)) words[pointer] = `${known}, or ${said}`;
  }
  return words;
};

const createRejectionError = (
  where: 'body' | 'query' | 'path',
  errors: readonly ErrorObject[],
): DomainError => {
  const words = describeFaults(errors);
  const pages = where === 'query' && '/page' in words;
  if (pages) return new DomainError('page_invalid', 'The page must be a whole number from 1.', words);
  const whole = words[wholePointer];
  if (whole === undefined) return createValidationError(where, words);
  return new DomainError('validation_failed', `The ${where} ${whole}.`, words);
};

/** Why `value` does not fit: for a body that check.ts rejected. Returns the error to throw. */
export const explain = (
  where: 'body' | 'path',
  schema: TSchema,
  rejected: { readonly value: unknown; readonly bytes: number },
): DomainError => {
  const validate = compileSchema(rejected.bytes > explainAllBytesMax ? 'first' : 'all', schema);
  if (validate(rejected.value) || !validate.errors) {
    return new DomainError('validation_failed', `The ${where} is not valid.`);
  }
  return createRejectionError(where, validate.errors);
};

/**
 * Coerces a query's strings and fills in defaults, in place. Throws `validation_failed` or `page_invalid`.
 */
export const coerceQuery = (schema: TSchema, query: Record<string, unknown>): void => {
  const validate = compileSchema('coercing', schema);
  if (!validate(query)) throw createRejectionError('query', validate.errors ?? []);
};

/**
 * Explains why a request was rejected, and coerces query strings. Uses Ajv: check.ts (TypeBox) decides fast
 * whether a body is valid, this file says what is wrong with it.
 *
 * Query values are strings: this file converts those of numbers and flags. An explanation has at most 16
 * entries, keyed by JSON Pointer. Schemas are compiled on first use: that takes milliseconds, an explanation
 * takes microseconds. Ajv is loaded then, too, unless `loadValidators` was called before.
 */
import { createRequire } from 'node:module';
import type { SchemaValidateFunction } from 'ajv';
import type { Ajv2020, ErrorObject, FuncKeywordDefinition, ValidateFunction } from 'ajv/dist/2020.js';
import type { TObject, TSchema } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { isVisiblyLong } from '../../engine/rules/text.ts';
import { patternMessages } from '../api/shared/patterns.ts';
import { createValidationError, escapePointer, explainedFieldsMax } from '../response/errors.ts';
import { formats } from './formats.ts';

/** Larger bodies get only their first fault explained, so that many faults stay cheap. */
const explainAllBytesMax = 16_384;

const require = createRequire(import.meta.url);

/** A text far over its maximum is rejected for that anyway, so its ends need no check. */
const isFarTooLong = (text: string, max: unknown): boolean =>
  typeof max === 'number' && text.length > 2 * max;

const checkMinimum: SchemaValidateFunction = (
  min: number,
  text: string,
  parent?: { readonly [keyword: string]: unknown },
) => {
  if (isFarTooLong(text, parent?.maxLength) || isVisiblyLong(text, min)) return true;
  // `blanks`: the text is too short only for what a reader sees. The message then says so.
  checkMinimum.errors = [{ keyword: 'minLength', params: { limit: min, blanks: text.length >= min } }];
  return false;
};

/** Replaces Ajv's `minLength` by the rule of check.ts. */
const minLengthKeyword: FuncKeywordDefinition = {
  keyword: 'minLength',
  type: 'string',
  schemaType: 'number',
  errors: true,
  validate: checkMinimum,
};

const createAjv = (options: { allErrors: boolean; useDefaults: boolean }): Ajv2020 => {
  const { Ajv2020 }: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js');
  const accepted = Object.entries(formats).map(([name, { accepts }]) => [name, accepts]);
  const ajv = new Ajv2020({ ...options, strict: false, formats: Object.fromEntries(accepted) });
  ajv.removeKeyword('minLength');
  ajv.addKeyword(minLengthKeyword);
  return ajv;
};

const validatorOptions = {
  all: { allErrors: true, useDefaults: false },
  first: { allErrors: false, useDefaults: false },
  query: { allErrors: true, useDefaults: true },
};
type ValidatorName = keyof typeof validatorOptions;

/** Created on first use. */
const validators: Partial<Record<ValidatorName, Ajv2020>> = {};

/**
 * Loads Ajv, which reads some hundred files in 40 ms: called once the node listens, because the first invalid
 * request may come when no file descriptor is left.
 */
export const loadValidators = (): void => {
  for (const name of Object.keys(validatorOptions) as ValidatorName[])
    validators[name] ??= createAjv(validatorOptions[name]);
};

/** Ajv compiles a schema once: it finds it again by its object. */
const compileSchema = (name: ValidatorName, schema: TSchema): ValidateFunction => {
  validators[name] ??= createAjv(validatorOptions[name]);
  return validators[name].compile(schema);
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
  uuid: formats.uuid.title,
  uri: 'a URL',
  'date-time': formats['date-time'].title,
};

const besidesBlanks = ', not counting blanks at its ends, blanks in a row and invisible ones';

/** Says in one sentence what is allowed. */
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

const toPointer = (error: ErrorObject): string =>
  error.keyword === 'required'
    ? `${error.instancePath}/${escapePointer(error.params.missingProperty)}`
    : error.instancePath;

/**
 * Whether an error only says that the value is not `null`, while another alternative fits its type. The
 * faults under that alternative are listed, so this one would mislead.
 */
const isBesideTheFault = (error: ErrorObject, errors: readonly ErrorObject[]): boolean => {
  if (error.keyword !== 'type' || error.params.type !== 'null') return false;
  const { instancePath } = error;
  const isTypeFault = ({ keyword }: ErrorObject): boolean => keyword === 'type' || keyword === 'anyOf';
  return errors.some(
    (other) =>
      `${other.instancePath}/`.startsWith(`${instancePath}/`) &&
      !(isTypeFault(other) && other.instancePath === instancePath),
  );
};

/** Returns the schema of a fault. Faults under one schema all apply; different schemas are alternatives. */
const toSchema = ({ schemaPath }: ErrorObject): string => schemaPath.slice(0, schemaPath.lastIndexOf('/'));

/** The `context` entries of a rejection: JSON Pointer to message, at most 16. */
export const describeFaults = (errors: readonly ErrorObject[]): Record<string, string> => {
  const messages: Record<string, string> = {};
  const schemas: Record<string, string> = {};
  let count = 0;
  for (const error of errors) {
    if (error.keyword === 'anyOf' || isBesideTheFault(error, errors)) continue;
    const pointer = toPointer(error).slice(0, 200);
    const earlier = messages[pointer];
    if (earlier === undefined && ++count > explainedFieldsMax) break;
    const message = describeFault(error);
    const joint = schemas[pointer] === toSchema(error) ? 'and' : 'or';
    schemas[pointer] = toSchema(error);
    if (earlier === undefined) messages[pointer] = message;
    else if (!earlier.includes(message)) messages[pointer] = `${earlier}, ${joint} ${message}`;
  }
  return messages;
};

const createRejectionError = (where: 'body' | 'query' | 'path', errors: readonly ErrorObject[]) => {
  const messages = describeFaults(errors);
  if (where === 'query' && '/page' in messages)
    return new DomainError('page_invalid', 'The page must be a whole number from 1.', messages);
  if (where !== 'body' && '/target_type' in messages)
    return new DomainError(
      'target_type_unsupported',
      'This operation does not know that kind of entity.',
      messages,
    );
  return createValidationError(where, messages);
};

/** Explains why `value`, which check.ts rejected, is invalid. Returns the error to throw. */
export const explain = (
  where: 'body' | 'path',
  schema: TSchema,
  rejected: { readonly value: unknown; readonly bytes: number },
): DomainError => {
  const validate = compileSchema(rejected.bytes > explainAllBytesMax ? 'first' : 'all', schema);
  validate(rejected.value);
  return createRejectionError(where, validate.errors ?? []);
};

const flags: Readonly<Record<string, boolean>> = { true: true, false: false };

/** What a query value means where the schema expects this type; the text itself if it is no such value. */
const convertText = (type: string | undefined, text: string): unknown => {
  if (type === 'boolean') return flags[text] ?? text;
  return type === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text;
};

/**
 * Converts a query's strings and fills in defaults, in place. Throws `validation_failed`, `page_invalid` or
 * `target_type_unsupported`.
 */
export const coerceQuery = (schema: TObject, query: Record<string, unknown>): void => {
  for (const [name, text] of Object.entries(query)) {
    const { type } = schema.properties[name] as { readonly type?: string };
    query[name] = convertText(type, text as string);
  }
  const validate = compileSchema('query', schema);
  if (!validate(query)) throw createRejectionError('query', validate.errors ?? []);
};

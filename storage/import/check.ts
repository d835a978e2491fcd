/**
 * Parses and validates one line of an import file: returns its record, or a text that says what is wrong.
 *
 * Makes all checks that need only the line itself; never queries the store. An integer beyond 2^53 becomes a
 * string, so that it keeps its digits.
 */
import { Compile, type Validator } from 'typebox/schema';
import { hasLongNumber, parseExact } from '../../engine/tools/exact-json.ts';
import type { RecordField, RecordFields } from './fields.ts';
import { findFormatFault, type ImportRecord, type KindName, kindNames, recordKinds } from './kinds.ts';

/** The first line of an export has neither. */
export type CheckedLine =
  | { readonly record: ImportRecord; readonly fault: '' }
  | { readonly record: null; readonly fault: string };

const validators = Object.fromEntries(
  kindNames.map((kind) => [kind, Compile(recordKinds[kind].schema)]),
) as Record<KindName, Validator>;

type ValidationErrors = ReturnType<Validator['Errors']>[1];

const faultsShownMax = 3;

/** Checks one line. Never throws. */
export const checkLine = (text: string): CheckedLine => {
  const value = parse(text);
  if (value === undefined) return bad('not valid JSON');
  if (!isObject(value)) return bad('not a JSON object');
  const { kind } = value;
  if (kind === 'export') return bad(findFormatFault(value));
  if (typeof kind !== 'string' || !isKindName(kind)) {
    return bad(`"kind" must be one of ${kindNames.join(', ')}`);
  }
  if (mayHaveNull.test(text)) dropNulls(value, recordKinds[kind].fields);
  const validator = validators[kind];
  if (!validator.Check(value)) return bad(describeFaults(value, validator.Errors(value)[1]));
  if (text.includes('\\u') && unstorable.test(JSON.stringify(value))) {
    return bad('has a NUL character or half of a surrogate pair');
  }
  const record = value as unknown as ImportRecord;
  const fault = recordKinds[kind].findContradiction?.(record);
  return fault ? bad(fault) : { record, fault: '' };
};

const bad = (fault: string): CheckedLine => ({ record: null, fault });

const mayBeNull = ({ schema }: RecordField): boolean =>
  (schema as { anyOf?: { type?: string }[] }).anyOf?.some(({ type }) => type === 'null') === true;
const mayHaveNull = /:\s*null/;
/** Other programs write `null` for what is absent. A field that may be `null` by itself keeps it. */
const dropNulls = (record: Record<string, unknown>, fields: RecordFields): void => {
  for (const [name, value] of Object.entries(record)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value === null && field !== undefined && 'fallback' in field && !mayBeNull(field))
      delete record[name];
    else if (name === 'user' && isObject(value)) dropNulls(value, recordKinds.user.fields);
  }
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isKindName = (word: string): word is KindName => Object.hasOwn(recordKinds, word);

/** Escapes of characters that SQL text cannot store. The escape must not be escaped itself. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(0000|d[89a-f]..)/;

/** Parses with digits kept only if the line has a long number: that parser is slower. */
const parse = (text: string): unknown => {
  try {
    return hasLongNumber(text) ? parseExact(text, isStat) : JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Fields and array indexes whose numbers may exceed 2^53. */
const statField = /^(servers|shards|users|\d+)$/;

const isStat = (key: string, source: string): boolean => statField.test(key) && /^\d+$/.test(source);

/** Describes at most three faults, each with its field. */
const describeFaults = (value: Record<string, unknown>, errors: ValidationErrors): string => {
  const byField = new Map<string, string>();
  for (const error of errors) {
    const params = error.params as { additionalProperties?: string[]; requiredProperties?: string[] };
    for (const field of params.additionalProperties ?? []) {
      byField.set(`${error.instancePath}/${field}`, 'is not a field of this record');
    }
    const at = findValue(value, error.instancePath);
    for (const field of params.requiredProperties ?? []) {
      if (!isObject(at) || !(field in at)) byField.set(`${error.instancePath}/${field}`, 'is missing');
    }
    const isKnown = byField.has(error.instancePath) && error.keyword !== '~refine';
    if (isKnown || isAboutShape(error.keyword)) continue;
    byField.set(error.instancePath, error.message);
  }
  const faults = [...byField].map(([path, message]) => `${path.slice(1)} ${message}`);
  const more = faults.length - faultsShownMax;
  return faults.slice(0, faultsShownMax).join('; ') + (more > 0 ? `; and ${more} more` : '');
};

const isAboutShape = (keyword: string): boolean =>
  keyword === 'additionalProperties' || keyword === 'required' || keyword === 'boolean';

const findValue = (value: unknown, path: string): unknown => {
  let at = value;
  for (const key of path.split('/').slice(1)) at = (at as Record<string, unknown> | undefined)?.[key];
  return at;
};

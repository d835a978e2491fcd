/**
 * The mapping of another directory's columns to the fields of records: a file of JSON that an operator writes
 * (docs/operators/import-format.md, "Other files").
 *
 * Pure. A value that its conversion cannot read stays as it is, and the check of the record names the field.
 */
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import type { RecordField } from './fields.ts';
import { kindNames, recordKinds } from './kinds.ts';

/** What is wrong with a mapping, or with a file that it reads: the message says what to do. */
export class MappingError extends Error {}

/** One row of a file, by the names of its columns; of JSON an object. */
export type Row = Readonly<Record<string, unknown>>;

const conversionNames = ['text', 'number', 'flag', 'list', 'iso', 'seconds', 'milliseconds'] as const;
type Conversion = (typeof conversionNames)[number];

const column = Type.String({ minLength: 1, maxLength: 200 });
const Rule = Type.Object(
  {
    column: Type.Optional(column),
    value: Type.Optional(Type.Unknown()),
    when: Type.Optional(column),
    as: Type.Optional(Type.Enum([...conversionNames])),
    separator: Type.Optional(Type.String({ minLength: 1, maxLength: 8 })),
    words: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);
const Mapping = Type.Object(
  {
    format: Type.Optional(Type.Enum(['csv', 'json'])),
    separator: Type.Optional(Type.String({ minLength: 1, maxLength: 1 })),
    encoding: Type.Optional(Type.Enum(['utf-8', 'latin1', 'utf-16le', 'utf-16be'])),
    records: Type.Array(
      Type.Object(
        {
          kind: Type.Enum([...kindNames]),
          when: Type.Optional(column),
          fields: Type.Record(Type.String(), Rule),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 20 },
    ),
  },
  { additionalProperties: false },
);
export type Mapping = Static<typeof Mapping>;
type Rule = Static<typeof Rule>;
type RecordMapping = Mapping['records'][number];

const validator = Compile(Mapping);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Writes `"tags": "labels"` as `"tags": {"column": "labels"}`. */
const expandRules = (value: unknown): unknown => {
  if (!isObject(value) || !Array.isArray(value.records)) return value;
  const records = value.records.map((record: unknown) => {
    if (!isObject(record) || !isObject(record.fields)) return record;
    const rules = Object.entries(record.fields).map(([field, rule]) => [
      field,
      typeof rule === 'string' ? { column: rule } : rule,
    ]);
    return { ...record, fields: Object.fromEntries(rules) };
  });
  return { ...value, records };
};

const findFieldFault = ({ kind, fields }: RecordMapping): string => {
  const known = Object.keys(recordKinds[kind].fields);
  for (const [path, { column, value }] of Object.entries(fields)) {
    const [field = '', ...inner] = path.split('.');
    if (!known.includes(field)) return `a ${kind} has no field "${field}". It has ${known.join(', ')}`;
    if (!inner.every((part) => /^([a-z][a-z_]*|\d{1,3})$/.test(part)))
      return `"${path}" is no field of a ${kind}`;
    if (column === undefined && value === undefined) return `"${path}" needs a column or a value`;
  }
  return '';
};

/** Reads a mapping. Throws a `MappingError` that says what is wrong with it. */
export const readMapping = (text: string, title: string): Mapping => {
  let value: unknown;
  try {
    value = expandRules(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch (error) {
    throw new MappingError(`${title} is not valid JSON: ${(error as Error).message}.`);
  }
  if (!validator.Check(value)) {
    const { instancePath = '', message = '', params } = validator.Errors(value)[1][0] ?? {};
    const allowed = (params as { allowedValues?: unknown[] } | undefined)?.allowedValues;
    const detail = allowed === undefined ? '' : `: ${allowed.join(', ')}`;
    throw new MappingError(`${title}: ${instancePath.slice(1) || 'it'} ${message}${detail}.`);
  }
  const mapping = value as Mapping;
  for (const record of mapping.records) {
    const fault = findFieldFault(record);
    if (fault !== '') throw new MappingError(`${title}: ${fault}.`);
  }
  return mapping;
};

/** Lists the columns that a mapping reads. */
export const listColumns = ({ records }: Mapping): readonly string[] => {
  const rules = records.flatMap(({ when, fields }) => [{ when }, ...Object.values(fields)] as Rule[]);
  return [...new Set(rules.flatMap(({ column, when }) => [column ?? [], when ?? []].flat()))];
};

/** Reads a column: by its name, or, of objects in objects, by their names with dots. `undefined`: none. */
export const readCell = (row: Row, name: string): unknown => {
  const whole = Object.hasOwn(row, name) ? row[name] : name.split('.').reduce(readPart, row as unknown);
  return whole === null || (typeof whole === 'string' && whole.trim() === '') ? undefined : whole;
};
const readPart = (at: unknown, part: string): unknown =>
  typeof at === 'object' && at !== null && Object.hasOwn(at, part)
    ? (at as Record<string, unknown>)[part]
    : undefined;

const toNumber = (value: unknown): unknown => {
  const text = String(value).trim();
  if (!/^-?\d+(\.\d+)?$/.test(text)) return value;
  // Integers beyond 2^53 keep their digits.
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? text : Number(text);
};
const flags: Readonly<Record<string, boolean>> = {
  ...{ true: true, yes: true, y: true, on: true, 1: true, t: true },
  ...{ false: false, no: false, n: false, off: false, 0: false, f: false },
};
const toTime = (value: unknown, ms: number): unknown => {
  const isInRange = Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;
  return isInRange ? new Date(ms).toISOString() : value;
};
const epochTime =
  (unitMs: number) =>
  (value: unknown): unknown => {
    const count = toNumber(value);
    return typeof count === 'number' ? toTime(value, count * unitMs) : value;
  };
/** Date, time and zone; without a zone it is UTC. */
const isoShape =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:[.,]\d{1,9})?)?)? ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i;
const fromIso = (value: unknown): unknown => {
  const [, day, minutes = '00:00', seconds = ':00', zone = 'Z'] = isoShape.exec(String(value).trim()) ?? [];
  if (day === undefined) return value;
  const offset = /^(z|utc)$/i.test(zone)
    ? 'Z'
    : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const ms = Date.parse(`${day}T${minutes}${seconds.replace(',', '.')}${offset}`);
  // `Date` reads 30 February as 2 March.
  const exists = new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return exists ? toTime(value, ms) : value;
};

const conversions: Readonly<Record<Conversion, (value: unknown, rule: Rule) => unknown>> = {
  text: (value) => (typeof value === 'object' ? value : String(value)),
  number: toNumber,
  flag: (value) => flags[String(value).trim().toLowerCase()] ?? value,
  list: (value, { separator = ',' }) =>
    typeof value === 'string'
      ? value
          .split(separator)
          .map((part) => part.trim())
          .filter((part) => part !== '')
      : value,
  iso: fromIso,
  seconds: epochTime(1_000),
  milliseconds: epochTime(1),
};

/** How a field is read whose rule does not say it: as the field is. */
const chooseConversion = (field: RecordField | undefined): Conversion => {
  if (field === undefined) return 'text';
  if (Array.isArray(field.empty)) return 'list';
  if (field.type === 'boolean') return 'flag';
  const isTime = field.type === 'timestamptz' || (field.type === 'bigint' && field.toCell !== undefined);
  if (isTime) return 'iso';
  return field.type === 'bigint' || field.type === 'numeric' ? 'number' : 'text';
};
/** Of a field in an object in a record, nothing is known here. */
export const findConversion = (kind: RecordMapping['kind'], path: string, rule: Rule): Conversion =>
  rule.as ?? chooseConversion(recordKinds[kind].fields[path]);

const put = (record: Record<string, unknown>, path: string, value: unknown): void => {
  const parts = path.split('.');
  const last = parts.pop() as string;
  let at = record;
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1] ?? last;
    at[part] ??= /^\d/.test(next) ? [] : {};
    at = at[part] as Record<string, unknown>;
  }
  at[last] = value;
};

const isAbsent = (row: Row, when: string | undefined): boolean =>
  when !== undefined && readCell(row, when) === undefined;

/** Makes the records of a row, one for each in the mapping; `null` where its `when` is empty. */
export const makeRecords = ({ records }: Mapping, row: Row): readonly (object | null)[] =>
  records.map(({ kind, when, fields }) => {
    if (isAbsent(row, when)) return null;
    const record: Record<string, unknown> = { kind };
    for (const [path, rule] of Object.entries(fields)) {
      if (isAbsent(row, rule.when)) continue;
      const cell = rule.column === undefined ? undefined : readCell(row, rule.column);
      const value = cell === undefined ? rule.value : convert(cell, findConversion(kind, path, rule), rule);
      if (value !== undefined) put(record, path, value);
    }
    return record;
  });

const convert = (cell: unknown, as: Conversion, rule: Rule): unknown => {
  const word = String(cell).trim();
  if (rule.words !== undefined && Object.hasOwn(rule.words, word)) return rule.words[word];
  return conversions[as](cell, rule);
};

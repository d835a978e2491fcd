/**
 * The types of fields in records: what each accepts, with the message for an invalid value, and how SQL
 * stores it. Lengths count Unicode code points.
 */
import Type, { type TOptional, type TSchema } from 'typebox';
import { limits, statsIntegerMax } from '../../engine/limits.ts';
import { isPermission } from '../../engine/rules/permissions.ts';
import { countCodePoints, isVisiblyLong, refusedInNames } from '../../engine/rules/text.ts';
import { aheadMsMax } from '../clock/look-up.ts';
import { formatTexts } from '../sql/client.ts';

export type AnyRecord = Readonly<Record<string, unknown>>;
export type Cell = string | number | boolean | null | undefined;
/** A constant, or a function of the record and of the ISO time of the import. */
type Fallback = unknown | ((record: AnyRecord, now: string) => unknown);

export interface RecordField<Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  /** SQL type of a cell. Composite values are sent as text and cast. */
  readonly type: 'text' | 'bigint' | 'numeric' | 'boolean' | 'uuid' | 'timestamptz';
  readonly cast?: 'text[]' | 'jsonb' | 'bytea';
  /** The usual fallback of this type. */
  readonly empty: unknown;
  /** Only optional fields have it: the value where a record has none. An export leaves out a constant one. */
  readonly fallback?: Fallback;
  /** Name of the column if the field has another. */
  readonly column?: string;
  /** Where the column is if not in the table of the kind; `null`: in none. */
  readonly table?: 'totals' | null;
  /** These convert a value, never null, to what SQL gets, and what SQL returns to a value. */
  readonly toCell?: (value: never) => Cell;
  readonly fromCell?: (cell: never) => unknown;
}
export type RecordFields = Readonly<Record<string, RecordField>>;

const field = <Schema extends TSchema>(
  schema: Schema,
  type: RecordField['type'],
  more: Partial<RecordField> = {},
): RecordField<Schema> => ({ empty: null, ...more, schema, type });

export const makeOptional = <Schema extends TSchema>(
  field: RecordField<Schema>,
  fallback: Fallback = field.empty,
): RecordField<TOptional<Schema>> => ({
  ...field,
  schema: Type.Optional(field.schema) as TOptional<Schema>,
  fallback,
});
export const withNull = <Schema extends TSchema>(field: RecordField<Schema>) => ({
  ...field,
  schema: Type.Union([Type.Null(), field.schema]),
});
/** Allows `''` beside the values of the field. */
export const withEmpty = <Schema extends TSchema>(field: RecordField<Schema>) => ({
  ...field,
  empty: '',
  schema: Type.Union([Type.Literal(''), field.schema]),
});
export const putInColumn = <Schema extends TSchema>(column: string, field: RecordField<Schema>) => ({
  ...field,
  column,
});
/** Puts a field that the engine counts in the table `totals`. */
export const putInTotals = <Schema extends TSchema>(field: RecordField<Schema>): RecordField<Schema> => ({
  ...field,
  table: 'totals',
});

type SchemasOf<Map extends RecordFields> = { [Name in keyof Map]: Map[Name]['schema'] };
/** Creates the schema of a record with these fields and no others: a mistyped one must not get lost. */
export const createObjectSchema = <Map extends RecordFields>(fields: Map) =>
  Type.Object(
    Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])) as SchemasOf<Map>,
    { additionalProperties: false },
  );

/* ------------------------------------------------------------ conversions */

/** Returns what a record has in a field, or its fallback. */
export const getValue = (
  record: AnyRecord,
  [name, field]: readonly [string, RecordField],
  now: string,
): unknown => {
  const value = record[name];
  if (value !== undefined) return value;
  return typeof field.fallback === 'function' ? field.fallback(record, now) : field.fallback;
};

/** Converts a row of SQL to the fields of a record, without those that equal their fallback. */
export const readFields = (fields: RecordFields, row: AnyRecord): Record<string, unknown> => {
  const record: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const cell = row[field.column ?? name];
    const value = cell === null || cell === undefined ? cell : convertCell(field, cell);
    if (!('fallback' in field && isSame(value, field.fallback))) record[name] = value;
  }
  return record;
};

const convertCell = ({ fromCell }: RecordField, cell: unknown): unknown =>
  fromCell === undefined ? cell : (fromCell as (cell: unknown) => unknown)(cell);

/** Whether a value equals a constant fallback: those that are objects are empty. */
const isSame = (value: unknown, fallback: unknown): boolean =>
  typeof fallback === 'object' && fallback !== null
    ? Object.keys(value as object).length === 0
    : (value ?? null) === (fallback ?? null);

/** Formats a time; those in a JSON aggregate of SQL are text. */
const formatTime = (value: Date | string | number): string => new Date(value).toISOString();

/** Converts the digits of an integer of any size to a JSON number. */
const toExactNumber = (digits: string): unknown =>
  digits === '0' ? 0 : (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(digits);

/* ------------------------------------------------------------------ types */

/** Creates a field for strings that `accepts` allows; `message` is for others. */
const checked = (
  accepts: (text: string) => boolean,
  message: string,
  { type = 'text', ...more }: Partial<RecordField> = {},
) =>
  field(
    Type.Refine(Type.String(), accepts, () => message),
    type,
    more,
  );
const codePointsWithin = (text: string, min: number, max: number): boolean => {
  if (text.length < min) return false;
  if (text.length <= max && text.length >= min * 2) return true;
  const count = countCodePoints(text);
  return count >= min && count <= max;
};

export const createText = (min: number, max: number) =>
  checked((value) => codePointsWithin(value, min, max), `must have ${min} to ${max} characters`, {
    empty: '',
  });
const refused = new RegExp(`[${refusedInNames}]`);
const isSafeLine = (value: string, max: number): boolean =>
  codePointsWithin(value, 0, max) && !refused.test(value);
/** Creates the field of a text in one line that people wrote elsewhere, by other limits than ours. */
export const createLine = (max: number) =>
  checked(
    (value) => isSafeLine(value, max),
    `must have at most ${max} characters, none a control character, none that changes the direction of text`,
    { empty: '' },
  );
/**
 * The same for an address. Text that is no address stays, and is shown as text. A browser ignores blanks
 * around a scheme, and so does `URL`.
 */
export const createAddress = (max: number) =>
  checked(
    (value) => isSafeLine(value, max) && (!URL.canParse(value) || /^https?:$/.test(new URL(value).protocol)),
    `must be an address of at most ${max} characters without a scheme other than http and https`,
    { empty: '' },
  );
/** Creates the field of a name, by the same rules as in requests. */
export const createName = (min: number, max: number) =>
  checked(
    (value) =>
      codePointsWithin(value, min, max) &&
      (value === '' || isVisiblyLong(value, Math.max(1, min))) &&
      !refused.test(value),
    `must have ${min} to ${max} characters, not counting invisible ones, and none that is a control ` +
      'character or changes the direction of text',
    { empty: '' },
  );
export const createPattern = (accepted: RegExp, message: string, more: Partial<RecordField> = {}) =>
  checked((value) => accepted.test(value), message, more);
export const createChoice = <Choice extends string>(choices: readonly Choice[]) => {
  const accepted: readonly string[] = choices;
  const { schema } = checked((value) => accepted.includes(value), `must be one of ${choices.join(', ')}`);
  return field(Type.Unsafe<Choice>(schema), 'text');
};
export const flag = field(Type.Boolean(), 'boolean', { empty: false });
export const createInteger = (minimum: number, maximum: number) =>
  field(Type.Integer({ minimum, maximum }), 'bigint', { empty: 0 });
export const count = createInteger(0, limits.counterMax);
export const hours = createInteger(0, 876_000);
export const cents = field(Type.Number({ minimum: 0, maximum: 1e12 }), 'numeric', { fromCell: Number });

export const id = createPattern(/^[A-Za-z0-9-]{1,64}$/, 'must be 1 to 64 letters, digits or hyphens');
export const platformId = createPattern(/^\d{15,20}$/, 'must be 15 to 20 digits');
export const slug = createPattern(
  /^[a-z0-9][a-z0-9_-]{0,63}$/,
  'must be 1 to 64 characters of a-z, 0-9, "-" and "_", the first a letter or digit',
);
export const uuid = createPattern(
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'must be a UUID in lower case',
  { type: 'uuid' },
);
export const hash = createPattern(
  /^[0-9a-f]{64}$/,
  'must be the SHA-256 of the token in 64 hexadecimal digits',
  {
    cast: 'bytea',
    toCell: (digits: string) => `\\x${digits}`,
    fromCell: (bytes: Buffer) => bytes.toString('hex'),
  },
);
/** Also checks that the day exists: `Date` reads 30 February as 2 March, and SQL refuses it. */
const isTime = (value: string): boolean => {
  const ms = timeShape.test(value) ? Date.parse(value) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value.slice(0, 19));
};
const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;
const timestamp: Partial<RecordField> = { type: 'timestamptz', fromCell: formatTime };
const timeRule = 'must be a UTC time like 2026-01-31T12:00:00.000Z';
/** Of what has happened (storage/clock/times.ts). */
export const time = checked(
  (value) => isTime(value) && Date.parse(value) <= Date.now() + aheadMsMax,
  `${timeRule}, at most a day ahead of this machine's clock`,
  timestamp,
);
export const plannedTime = checked(isTime, timeRule, timestamp);
/** A time that SQL has in milliseconds, 0 for none. */
export const timeMs = field(time.schema, 'bigint', {
  empty: 0,
  toCell: (value: string | 0) => value && Date.parse(value),
  fromCell: (ms: number) => ms && formatTime(ms),
});

/** Integers up to `statsIntegerMax`: JSON numbers if they are exact, else their digits as a string. */
const isStat = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 0
    : typeof value === 'string' && /^(0|[1-9]\d{0,19})$/.test(value) && BigInt(value) <= statsIntegerMax;
const statSchema = Type.Refine(
  Type.Unsafe<number | string>({}),
  isStat,
  () => `must be an integer from 0 to ${statsIntegerMax}`,
);
export const stat = field(statSchema, 'numeric', { empty: 0, fromCell: toExactNumber });
export const statList = field(Type.Array(statSchema, { maxItems: limits.shardListEntriesMax }), 'text', {
  empty: [],
  toCell: (list: readonly unknown[]) => list.join(','),
  fromCell: (digits: string) => (digits === '' ? [] : digits.split(',').map(toExactNumber)),
});

export const createList = <Item extends TSchema>(
  { schema }: RecordField<Item>,
  maxItems: number,
  { minItems = 0, uniqueItems = true } = {},
) =>
  field(Type.Array(schema, { minItems, maxItems, uniqueItems }), 'text', {
    cast: 'text[]',
    empty: [],
    toCell: formatTexts,
  });
export const createJson = <Schema extends TSchema>(schema: Schema, more: Partial<RecordField> = {}) =>
  field(schema, 'text', {
    cast: 'jsonb',
    toCell: (value: unknown) => JSON.stringify(value),
    ...more,
  });
/** Records inside of a record; they are in no column of this name. */
export const createNested = <Schema extends TSchema>(schema: Schema, more: Partial<RecordField> = {}) =>
  field(schema, 'text', { empty: undefined, table: null, ...more });

export const createTags = (minItems: number) => createList(createName(3, 30), 5, { minItems });
/** Tags that people wrote elsewhere. Empty and repeated ones are dropped. */
export const createAnyTags = (max: number, charactersMax: number) => ({
  ...createList(createLine(charactersMax), max, { uniqueItems: false }),
  toCell: (tags: readonly string[]) => formatTexts([...new Set(tags)].filter((tag) => tag !== '')),
});
export const names = createList(createText(1, 128), 200);
export const flags = createList(createText(1, 64), 100, { uniqueItems: false });
export const permissions = field(
  Type.Array(checked(isPermission, 'must be a permission id').schema, { uniqueItems: true }),
  'text',
  { cast: 'text[]', empty: [], toCell: formatTexts },
);

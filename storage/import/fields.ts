/**
 * The types of fields in import records, each with the message for an invalid value.
 *
 * Used by the schemas of records: schema.ts and offers-schema.ts.
 */
import Type, { type TSchema } from 'typebox';
import { limits, statsIntegerMax } from '../../engine/limits.ts';
import { isPermission } from '../../engine/rules/permissions.ts';
import { findVanityCodeFault, foldVanityCode } from '../../engine/rules/vanity.ts';

export const optional = Type.Optional;

/** A string that `accepts` returns true for; `words` is the message for any other. */
const checked = (accepts: (text: string) => boolean, words: string) =>
  Type.Refine(Type.String(), accepts, () => words);
export const createPatternField = (pattern: RegExp, words: string) =>
  checked((text) => pattern.test(text), words);
export const createChoiceField = <Word extends string>(words: readonly Word[]) =>
  Type.Unsafe<Word>(
    checked((text) => (words as readonly string[]).includes(text), `must be one of ${words.join(', ')}`),
  );

const codePointsWithin = (text: string, min: number, max: number): boolean => {
  if (text.length < min) return false;
  if (text.length <= max && text.length >= min * 2) return true;
  let count = 0;
  for (const _ of text) count++;
  return count >= min && count <= max;
};
export const createTextField = (min: number, max: number) =>
  checked((text) => codePointsWithin(text, min, max), `must have ${min} to ${max} characters`);

export const id = createPatternField(/^[A-Za-z0-9-]{1,64}$/, 'must be 1 to 64 letters, digits or hyphens');
export const platformId = createPatternField(/^\d{15,20}$/, 'must be 15 to 20 digits');
export const uuid = createPatternField(
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'must be a UUID in lower case',
);
/** Also checks that the day exists: `Date` reads 30 February as 2 March, and SQL refuses it. */
const isTime = (text: string): boolean => {
  const ms = timeShape.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 19));
};
const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;
export const time = checked(isTime, 'must be a UTC time like 2026-01-31T12:00:00.000Z');
const isHttpsUrl = (text: string): boolean =>
  text.length <= 512 && text.startsWith('https://') && URL.canParse(text);
export const httpsUrl = checked(isHttpsUrl, 'must be an https URL of at most 512 characters');
export const vanity = checked(
  (text) => findVanityCodeFault(foldVanityCode(text)) === null,
  'must be 2 to 32 characters of a-z, 0-9, "-" and "_", not a reserved name and not like an id',
);
export const count = Type.Integer({ minimum: 0, maximum: limits.counterMax });

/** Integers up to `statsIntegerMax`: JSON numbers if they are exact, else their digits as a string. */
const isStat = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 0
    : typeof value === 'string' && /^\d{1,20}$/.test(value) && BigInt(value) <= statsIntegerMax;
export const stat = Type.Refine(
  Type.Unsafe<number | string>({}),
  isStat,
  () => `must be an integer from 0 to ${statsIntegerMax}`,
);

export const createTagsField = (min: number) =>
  Type.Array(createTextField(3, 30), { minItems: min, maxItems: 5, uniqueItems: true });
export const flags = Type.Array(createTextField(1, 64), { maxItems: 100 });
export const extraLinks = Type.Array(
  Type.Object({ name: createTextField(1, 64), value: httpsUrl }, { additionalProperties: false }),
  {
    maxItems: 20,
  },
);
export const permissions = Type.Array(checked(isPermission, 'must be a permission id'), {
  uniqueItems: true,
});
export const record = <Fields extends Record<string, TSchema>>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false });

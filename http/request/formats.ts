/**
 * The formats of text in requests: what `uuid` and `date-time` accept in every operation.
 *
 * Stricter than both libraries that check: SQL and `Date` must take what they accept. Ajv alone takes
 * `urn:uuid:…`, and both take leap seconds and the year 0. Pure; used by check.ts and explain.ts.
 */
import Format from 'typebox/format';

const years = { first: 2000, last: 2199 } as const;

/** Whether `Date` accepts the text (it knows no leap seconds) and its year is plausible. */
const isTimestamp = (text: string): boolean => {
  if (!Format.IsDateTime(text)) return false;
  const year = new Date(text).getUTCFullYear();
  return year >= years.first && year <= years.last;
};

interface TextFormat {
  readonly accepts: (text: string) => boolean;
  /** What an error message calls it. */
  readonly title: string;
}
export const formats: Readonly<Record<'uuid' | 'date-time', TextFormat>> = {
  uuid: { accepts: Format.IsUuid, title: 'a UUID' },
  'date-time': {
    accepts: isTimestamp,
    title: `an RFC 3339 timestamp of the years ${years.first} to ${years.last}`,
  },
};

/** Registers the formats with TypeBox, process-wide. Call before a schema is compiled. */
export const registerFormats = (): void => {
  for (const [name, { accepts }] of Object.entries(formats)) Format.Set(name, accepts);
};

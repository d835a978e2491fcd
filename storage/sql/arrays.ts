/**
 * Columns of many rows as array literals: what `unnest` takes in one statement.
 *
 * Built here, because the driver escapes element by element, which costs more than the statement itself.
 * Used by statements that carry hundreds of rows.
 */

/** Numbers, and decimal strings that hold nothing but digits and a sign. */
export const formatNumbers = (values: readonly (number | string)[]): string => `{${values.join(',')}}`;

/** Any text. SQL itself refuses NUL in it. Nearly none needs escaping, and a test is cheaper than that. */
export const formatTexts = (values: readonly string[]): string => {
  if (values.length === 0) return '{}';
  const escaped = values.some(isSpecial) ? values.map(escapeText) : values;
  return `{"${escaped.join('","')}"}`;
};

const isSpecial = (value: string): boolean => value.includes('"') || value.includes('\\');
const escapeText = (value: string): string => value.replace(/["\\]/g, '\\$&');

export const formatBooleans = (values: readonly boolean[]): string =>
  `{${values.map((value) => (value ? 't' : 'f')).join(',')}}`;

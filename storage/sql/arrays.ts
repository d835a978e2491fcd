/**
 * Formats columns of many rows as array literals for `unnest`, so that one statement carries all rows.
 *
 * The driver would escape element by element, which costs more than the statement itself.
 */

/** Formats numbers, or decimal strings of digits and a sign. */
export const formatNumbers = (values: readonly (number | string)[]): string => `{${values.join(',')}}`;

/** Formats any texts; SQL itself refuses NUL. Few need escaping, and testing for that is cheaper. */
export const formatTexts = (values: readonly string[]): string => {
  if (values.length === 0) return '{}';
  const escaped = values.some(isSpecial) ? values.map(escapeText) : values;
  return `{"${escaped.join('","')}"}`;
};

const isSpecial = (value: string): boolean => value.includes('"') || value.includes('\\');
const escapeText = (value: string): string => value.replace(/["\\]/g, '\\$&');

export const formatBooleans = (values: readonly boolean[]): string =>
  `{${values.map((value) => (value ? 't' : 'f')).join(',')}}`;

/**
 * Columns of many rows as array literals: what `unnest` takes in one statement.
 *
 * Built here, because the driver escapes element by element, which costs more than the statement itself.
 * Used by statements that carry hundreds of rows.
 */

/** Numbers, and decimal strings that hold nothing but digits and a sign. */
export const numbersArray = (values: readonly (number | string)[]): string => `{${values.join(',')}}`;

/** Any text. SQL itself refuses NUL in it. */
export const textsArray = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;

export const booleansArray = (values: readonly boolean[]): string =>
  `{${values.map((value) => (value ? 't' : 'f')).join(',')}}`;

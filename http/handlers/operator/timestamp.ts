/**
 * Parses a timestamp that an operator writes, and refuses impossible dates and implausible years. Pure.
 */
import { createValidationError } from '../../response/validation-error.ts';

const years = { first: 2000, last: 2199 } as const;

/** Parses a timestamp. Throws `validation_failed`, which names the field at `pointer`. */
export const parseTimestamp = (pointer: string, text: string): Date => {
  const date = new Date(text);
  const year = date.getUTCFullYear();
  if (year >= years.first && year <= years.last) return date;
  throw createValidationError('body', {
    [pointer]: `must be a time in the years ${years.first} to ${years.last}`,
  });
};

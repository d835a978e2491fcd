/**
 * A moment that an operator writes: one that the calendar has, in years that SQL and people mean. Pure.
 */
import { createValidationError } from '../../response/validation-error.ts';

const years = { first: 2000, last: 2199 } as const;

/** Throws `validation_failed` naming the field. */
export const parseTimestamp = (pointer: string, text: string): Date => {
  const moment = new Date(text);
  const year = moment.getUTCFullYear();
  if (year >= years.first && year <= years.last) return moment;
  throw createValidationError('body', {
    [pointer]: `must be a moment of the years ${years.first} to ${years.last}`,
  });
};

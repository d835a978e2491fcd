/**
 * A moment that an operator writes: one that the calendar has, in years that SQL and people mean. Pure.
 */
import { invalid } from '../../invalid.ts';

const years = { first: 2000, last: 2199 } as const;

/** Throws `validation_failed` naming the field. */
export const momentOf = (pointer: string, text: string): Date => {
  const moment = new Date(text);
  const year = moment.getUTCFullYear();
  if (year >= years.first && year <= years.last) return moment;
  throw invalid('body', { [pointer]: `must be a moment of the years ${years.first} to ${years.last}` });
};

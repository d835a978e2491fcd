/**
 * The refusal of a request with fields at fault, named by their JSON Pointers: what explain.ts finds by a
 * schema, and what handlers find that no schema can say, in the same shape. Pure.
 */
import { DomainError } from '../../engine/errors.ts';

/** One word of a JSON Pointer (RFC 6901, section 3). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Further faults are left out of `context`: fixing these first is work enough. */
export const explainedFieldsMax = 16;

/** Which part of the request, and by pointer what each field must be. Returns the error to throw. */
export const createValidationError = (
  where: 'body' | 'query' | 'path' | 'login',
  words: Readonly<Record<string, string>>,
): DomainError => {
  const named = Object.entries(words).slice(0, explainedFieldsMax);
  const pointers = named.map(([pointer]) => pointer).join(', ');
  return new DomainError(
    'validation_failed',
    `The ${where} is not valid: ${pointers}.`,
    Object.fromEntries(named),
  );
};

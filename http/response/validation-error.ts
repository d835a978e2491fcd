/**
 * Builds the error of a request with invalid fields, named by their JSON Pointers. explain.ts uses it for
 * faults that a schema finds, handlers for faults that no schema can express. Pure.
 */
import { DomainError } from '../../engine/errors.ts';

/** Escapes one reference token of a JSON Pointer (RFC 6901, section 3). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Most faults listed in `context`; further ones are left out. */
export const explainedFieldsMax = 16;

/** Takes the part of the request and, by pointer, what each field must be. Returns the error to throw. */
export const createValidationError = (
  where: 'body' | 'query' | 'path' | 'header' | 'login',
  messages: Readonly<Record<string, string>>,
): DomainError => {
  const listed = Object.entries(messages).slice(0, explainedFieldsMax);
  const pointers = listed.map(([pointer]) => pointer).join(', ');
  return new DomainError(
    'validation_failed',
    `The ${where} is not valid: ${pointers}.`,
    Object.fromEntries(listed),
  );
};

/**
 * Parses a raw query string into an object of the names that a route declares.
 *
 * Unknown names are ignored, the last of a repeated name counts, a plus sign is a space. Malformed
 * percent-encoding is a 400. Values stay strings: explain.ts coerces them. Pure.
 */
import type { DomainError } from '../../engine/errors.ts';
import { createValidationError, escapePointer } from '../response/validation-error.ts';

/** `name` is the parameter, `''` while it is not known: then the pointer names the whole query. */
const createTextError = (name: string): DomainError =>
  createValidationError('query', {
    [name === '' ? '' : `/${escapePointer(name)}`]: 'must be percent-encoded UTF-8 text without NUL',
  });

const decodeQueryText = (raw: string, name = ''): string => {
  const spaced = raw.includes('+') ? raw.replaceAll('+', ' ') : raw;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw createTextError(name);
  }
};

/** Returns the values of the known names. Throws `validation_failed`. */
export const parseQuery = (text: string, known: ReadonlySet<string>): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = decodeQueryText(equals === -1 ? pair : pair.slice(0, equals));
    if (!known.has(name)) continue;
    const value = equals === -1 ? '' : decodeQueryText(pair.slice(equals + 1), name);
    if (value.includes('\u0000') || !value.isWellFormed()) throw createTextError(name);
    values[name] = value;
  }
  return values;
};

/**
 * Parses a raw query string into an object of the names that a route declares.
 *
 * Unknown names are ignored, the last of a repeated name counts, a plus sign is a space. Malformed
 * percent-encoding is a 400. Values stay strings: explain.ts coerces them. Pure.
 */
import { DomainError } from '../../engine/errors.ts';

const decodeQueryText = (raw: string): string => {
  const spaced = raw.includes('+') ? raw.replaceAll('+', ' ') : raw;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new DomainError('validation_failed', 'The query string has malformed percent-encoding.');
  }
};

/** Returns the values of the known names. Throws `validation_failed`. */
export const parseQuery = (text: string, known: ReadonlySet<string>): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = decodeQueryText(equals === -1 ? pair : pair.slice(0, equals));
    if (!known.has(name)) continue;
    const value = equals === -1 ? '' : decodeQueryText(pair.slice(equals + 1));
    if (value.includes('\u0000') || !value.isWellFormed()) {
      throw new DomainError('validation_failed', `The query value of "${name}" is not text.`);
    }
    values[name] = value;
  }
  return values;
};

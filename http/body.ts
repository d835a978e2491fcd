/**
 * From the text of a body to a value that is safe to check.
 *
 * Owns the rules no schema can say: one JSON text and nothing else, at most 32 levels deep, strings that
 * are well-formed Unicode without NUL, no `__proto__` member. The last of duplicate keys counts, as
 * JSON.parse has it. Numbers are plain numbers here; a handler that needs integers beyond 2^53 to the digit
 * reads `request.bodyText`. Pure; throws `DomainError` `malformed_json`. Called by dispatch.ts.
 */
import { DomainError } from '../engine/errors.ts';

export const bodyDepthMax = 32;

const malformed = (why: string): DomainError => new DomainError('malformed_json', why);

const inspectText = (text: string): void => {
  if (!text.isWellFormed()) throw malformed('A string in the body has half of a surrogate pair.');
  if (text.includes('\u0000')) throw malformed('A string in the body has a NUL character.');
};

const inspectMembers = (value: Record<string, unknown>, depth: number, escaped: boolean): void => {
  for (const key in value) {
    if (key === '__proto__') {
      delete value[key];
      continue;
    }
    if (escaped) inspectText(key);
    const member = value[key];
    if (typeof member === 'object' && member !== null) inspect(member, depth + 1, escaped);
    else if (escaped && typeof member === 'string') inspectText(member);
  }
};

/** Depth is bounded by `bodyDepthMax`. Strings need a look only when the text has `\u` escapes. */
const inspect = (value: object, depth: number, escaped: boolean): void => {
  if (depth > bodyDepthMax) throw malformed(`The body is nested deeper than ${bodyDepthMax} levels.`);
  if (!Array.isArray(value)) {
    inspectMembers(value as Record<string, unknown>, depth, escaped);
    return;
  }
  for (const member of value) {
    if (typeof member === 'object' && member !== null) inspect(member, depth + 1, escaped);
    else if (escaped && typeof member === 'string') inspectText(member);
  }
};

/** Parses a body. Throws `malformed_json` in the client's words. */
export const parseBody = (text: string): unknown => {
  if (text === '') throw malformed('The body is empty; a JSON object is needed.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(`The body is not JSON: ${(error as Error).message}.`);
  }
  const escaped = text.includes('\\u');
  if (typeof value === 'object' && value !== null) inspect(value, 1, escaped);
  else if (escaped && typeof value === 'string') inspectText(value);
  return value;
};

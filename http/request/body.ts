/**
 * Parses the text of a body into a value that is safe to check.
 *
 * Owns the rules that no schema can express: one JSON text and nothing else, at most 32 levels deep, no more
 * values than the operation can use, strings that are well-formed Unicode without NUL, no `__proto__` member.
 * Values are counted in the text before it is parsed: building 60,000 members takes 44 ms, counting them
 * takes one. Of duplicate keys the last counts, as in JSON.parse. Numbers are plain numbers here; a handler
 * that needs exact integers beyond 2^53 reads `request.bodyText`. Pure; throws `DomainError` `malformed_json`
 * or `validation_failed`.
 */
import { DomainError } from '../../engine/errors.ts';

export const bodyDepthMax = 32;

/** Bounds of one operation's body. */
export interface BodyLimits {
  /** Bytes; the general limit of the settings applies too. */
  readonly bytesMax: number;
  /** Members of the top-level object. */
  readonly fieldsMax: number;
  /** Members, entries and empty lists or objects at all levels. */
  readonly valuesMax: number;
}

/** For operations without bounds of their own: several times the size of their largest bodies. */
export const usualBodyLimits: BodyLimits = {
  bytesMax: Number.POSITIVE_INFINITY,
  fieldsMax: 4_096,
  valuesMax: 4_096,
};

const createMalformedError = (why: string): DomainError => new DomainError('malformed_json', why);

const createTooDeepError = (): DomainError =>
  createMalformedError(`The body is nested deeper than ${bodyDepthMax} levels.`);
const createTooManyError = (max: number, what: string): DomainError =>
  new DomainError('validation_failed', `The body has more than ${max} ${what}.`, {
    '': `must have at most ${max} ${what}`,
  });

const backslash = 0x5c;

/** Index of the closing quote of the string that begins at `start`, the text's length when there is none. */
export const findStringEnd = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
};

/** Lower bounds of the characters of an object's field (`"":0,`) and of a value in an array (`0,`). */
const memberCharacters = 4;
const valueCharacters = 2;

/**
 * Counts commas and opening brackets as values, and top-level colons as fields. The parser decides later
 * whether the text is JSON.
 */
const countValues = (text: string, limits: BodyLimits): void => {
  let values = 0;
  let fields = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = findStringEnd(text, at);
        break;
      case 0x2c: // ,
        values++;
        break;
      case 0x3a: // :
        if (depth === 1 && ++fields > limits.fieldsMax) throw createTooManyError(limits.fieldsMax, 'fields');
        break;
      case 0x5b: // [
      case 0x7b: // {
        values++;
        if (++depth > bodyDepthMax) throw createTooDeepError();
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      default:
        continue;
    }
    if (values > limits.valuesMax) throw createTooManyError(limits.valuesMax, 'values');
  }
};

const inspectText = (text: string): void => {
  if (!text.isWellFormed()) throw createMalformedError('A string in the body has half of a surrogate pair.');
  if (text.includes('\u0000')) throw createMalformedError('A string in the body has a NUL character.');
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

/** Recursion is bounded by `bodyDepthMax`. Strings are checked only when the text has `\u` escapes. */
const inspect = (value: object, depth: number, escaped: boolean): void => {
  if (depth > bodyDepthMax) throw createTooDeepError();
  if (!Array.isArray(value)) {
    inspectMembers(value as Record<string, unknown>, depth, escaped);
    return;
  }
  for (const member of value) {
    if (typeof member === 'object' && member !== null) inspect(member, depth + 1, escaped);
    else if (escaped && typeof member === 'string') inspectText(member);
  }
};

/** Parses a body. Throws `malformed_json` or `validation_failed` with a message for the client. */
export const parseBody = (text: string, limits: BodyLimits = usualBodyLimits): unknown => {
  if (text === '') throw createMalformedError('The body is empty; a JSON object is needed.');
  // Most bodies are too short to exceed the limits.
  if (text.length > Math.min(limits.fieldsMax * memberCharacters, limits.valuesMax * valueCharacters)) {
    countValues(text, limits);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw createMalformedError(`The body is not JSON: ${(error as Error).message}.`);
  }
  const escaped = text.includes('\\u');
  if (typeof value === 'object' && value !== null) inspect(value, 1, escaped);
  else if (escaped && typeof value === 'string') inspectText(value);
  return value;
};

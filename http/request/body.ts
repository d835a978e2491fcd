/**
 * From the text of a body to a value that is safe to check.
 *
 * Owns the rules no schema can say: one JSON text and nothing else, at most 32 levels deep, not more values
 * than the operation can use, strings that are well-formed Unicode without NUL, no `__proto__` member. Values
 * are counted in the text, before anything is built of it: building 60,000 members takes 44 ms, counting them
 * takes one. The last of duplicate keys counts, as
 * JSON.parse has it. Numbers are plain numbers here; a handler that needs integers beyond 2^53 to the digit
 * reads `request.bodyText`. Pure; throws `DomainError` `malformed_json` or `validation_failed`. Called by
 * dispatch.ts.
 */
import { DomainError } from '../../engine/errors.ts';

export const bodyDepthMax = 32;

/** Bounds of one operation's body. */
export interface BodyLimits {
  /** Bytes; the setting for all bodies counts too. */
  readonly bytesMax: number;
  /** Members of the object that the body is. */
  readonly fieldsMax: number;
  /** Members, entries and empty lists or objects at all levels. */
  readonly valuesMax: number;
}

/** For operations that name no bounds of their own: several times what the largest of their bodies has. */
export const usualBodyLimits: BodyLimits = {
  bytesMax: Number.POSITIVE_INFINITY,
  fieldsMax: 4_096,
  valuesMax: 4_096,
};

const createMalformedError = (why: string): DomainError => new DomainError('malformed_json', why);

const tooDeep = (): DomainError =>
  createMalformedError(`The body is nested deeper than ${bodyDepthMax} levels.`);
const tooMany = (most: number, what: string): DomainError =>
  new DomainError('validation_failed', `The body has more than ${most} ${what}.`);

const backslash = 0x5c;

/** Where the string that begins at `start` ends, the length of the text when it does not. */
export const findStringEnd = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
};

/** The fewest characters that a member takes (`"":0,`) and that a value takes (`0,`), rounded down. */
const memberCharacters = 4;
const valueCharacters = 2;

/**
 * Counts commas and opening brackets for values, colons of the first level for fields. Whether the text is
 * JSON is for the parser to say.
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
        if (depth === 1 && ++fields > limits.fieldsMax) throw tooMany(limits.fieldsMax, 'fields');
        break;
      case 0x5b: // [
      case 0x7b: // {
        values++;
        if (++depth > bodyDepthMax) throw tooDeep();
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      default:
        continue;
    }
    if (values > limits.valuesMax) throw tooMany(limits.valuesMax, 'values');
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

/** Depth is bounded by `bodyDepthMax`. Strings need a look only when the text has `\u` escapes. */
const inspect = (value: object, depth: number, escaped: boolean): void => {
  if (depth > bodyDepthMax) throw tooDeep();
  if (!Array.isArray(value)) {
    inspectMembers(value as Record<string, unknown>, depth, escaped);
    return;
  }
  for (const member of value) {
    if (typeof member === 'object' && member !== null) inspect(member, depth + 1, escaped);
    else if (escaped && typeof member === 'string') inspectText(member);
  }
};

/** Parses a body. Throws `malformed_json` or `validation_failed` in the client's words. */
export const parseBody = (text: string, limits: BodyLimits = usualBodyLimits): unknown => {
  if (text === '') throw createMalformedError('The body is empty; a JSON object is needed.');
  // Most bodies are too short to have too many.
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

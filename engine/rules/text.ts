/**
 * What a text may contain, and how long its visible part is. Pure.
 */

/**
 * Characters that no id, name or tag may have: control characters, because SQL text cannot hold a NUL and
 * none needs the others; and those that change the direction of the text after them, because a name could
 * look like another one. They stand between the brackets of a pattern.
 */
export const refusedInNames = '\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069';

/** White space and invisible characters: the Unicode categories Z and C. */
const invisible = /^[\p{Z}\p{C}]$/u;
const visible = /[^\p{Z}\p{C}]/u;

/** Finds the index after the last visible character. `text` must have one. */
const findVisibleEnd = (text: string): number => {
  let end = text.length;
  for (;;) {
    const isPair = end > 1 && (text.codePointAt(end - 2) ?? 0) > 0xffff;
    const start = end - (isPair ? 2 : 1);
    if (!invisible.test(text.slice(start, end))) return end;
    end = start;
  }
};

export const countCodePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Counts the text's Unicode code points without white space and invisible characters at both ends. */
export const measureVisibleLength = (text: string): number => {
  const start = text.search(visible);
  return start === -1 ? 0 : countCodePoints(text.slice(start, findVisibleEnd(text)));
};

/** Whether the visible length is at least `min`; counts only if the length and both ends do not decide it. */
export const isVisiblyLong = (text: string, min: number): boolean => {
  const { length } = text;
  // A code point is two UTF-16 units at most.
  if (length >= 2 * min && isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(length - 1))) return true;
  return measureVisibleLength(text) >= min;
};

/** Whether it is printable ASCII except the space. */
const isPlain = (unit: number): boolean => unit > 0x20 && unit < 0x7f;

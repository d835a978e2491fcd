/**
 * How long a text is to those who read it. Pure. Used by the schemas' checkers (http) and by the rules beside
 * this file.
 */

/** White space and what cannot be seen: the Unicode categories Z and C. */
const invisible = /^[\p{Z}\p{C}]$/u;
const visible = /[^\p{Z}\p{C}]/u;

/** Where the last visible character ends. `text` has one. */
const visibleEnd = (text: string): number => {
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

/**
 * Unicode code points of the text without white space and invisible characters at both ends; 0 when there is
 * nothing else.
 */
export const measureVisibleLength = (text: string): number => {
  const start = text.search(visible);
  return start === -1 ? 0 : countCodePoints(text.slice(start, visibleEnd(text)));
};

/** Whether `visibleLength` is `min` or more, without counting where the ends say so. */
export const isVisiblyLong = (text: string, min: number): boolean => {
  const { length } = text;
  // A code point is two UTF-16 units at most.
  if (length >= 2 * min && isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(length - 1))) return true;
  return measureVisibleLength(text) >= min;
};

/** Printable ASCII without the blank. */
const isPlain = (unit: number): boolean => unit > 0x20 && unit < 0x7f;

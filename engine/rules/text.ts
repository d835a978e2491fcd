/**
 * What a text may contain, and how long its visible part is. Pure.
 */

/**
 * Characters that no id, name or tag may have: control characters, because SQL text cannot hold a NUL and
 * none needs the others; and those that change the direction of the text after them, because a name could
 * look like another one. They stand between the brackets of a pattern.
 */
export const refusedInNames = '\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069';

/**
 * Characters that show nothing, although Unicode has them as letters, marks or symbols: the braille blank, a
 * null notehead, blanks and joiners of Egyptian, Khitan, Tifinagh and Brahmi, and a place for an object.
 */
const blank = '\\u2800\\u2d7f\\ufffc\\u{1107f}\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}';
const whiteSpace = /\p{White_Space}/u;
/** C: control, format and private characters, halves of a pair, and what this Unicode does not assign. */
const shown = new RegExp(`[^\\p{White_Space}\\p{C}\\p{Default_Ignorable_Code_Point}${blank}]`, 'gu');

export const countCodePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/**
 * Counts the code points that a reader sees, up to about `enough`. White space between them counts once in a
 * row, as a browser shows it, and at the ends not at all. Linear, and mostly not longer than `enough`.
 */
export const measureVisibleLength = (text: string, enough = Number.POSITIVE_INFINITY): number => {
  let count = 0;
  let end = 0;
  shown.lastIndex = 0;
  for (let found = shown.exec(text); found !== null && count < enough; found = shown.exec(text)) {
    if (count > 0 && whiteSpace.test(text.slice(end, found.index))) count++;
    count++;
    end = shown.lastIndex;
  }
  return count;
};

export const isVisiblyLong = (text: string, min: number): boolean => measureVisibleLength(text, min) >= min;

/**
 * Folds the words of a search. Owns nothing but the form in which words are compared, which must be that of
 * `fold_words` of the schema for every letter: a test compares both. Called by search.ts. Pure.
 */

/** The ranges of `fold_words`. */
const letters =
  'A-Za-z\u00C6-\u02AF\u0370-\u052F\u1C80-\u1C8F\u1D00-\u1DBF' +
  '\u1E00-\u1FFF\u2C60-\u2C7F\uA640-\uA69F\uA720-\uA7FF';
const marked = new RegExp(`([${letters}])[\u0300-\u036F]+`, 'g');

/** Converts a word to the form in which searches compare it. */
export const foldWord = (word: string): string =>
  word
    .normalize('NFKD')
    .replace(marked, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('ı', 'i')
    .replaceAll('ς', 'σ')
    .replaceAll('ß', 'ss');

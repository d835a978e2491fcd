/**
 * Finds text that stands in two places of the documents: by shingles of ten words, grown to the whole run of
 * equal words. Tables, code and headings count as they are. Pure.
 */

const shingleWords = 10;

interface Place {
  readonly file: string;
  readonly at: number;
}

/** Words in lower case, without what formats them; blocks of code are left out: tests compare those. */
const splitWords = (text: string): string[] =>
  text
    .replaceAll(/^```[\s\S]*?^```$/gm, ' ')
    .toLowerCase()
    .replaceAll(/\]\([^)]*\)/g, ' ')
    .split(/[^\p{L}\p{N}_]+/u)
    .filter(Boolean);

/** `one.md and other.md: 31 words "…"` for each run of more than `wordsMax` equal words. */
export const findRepeats = (texts: ReadonlyMap<string, string>, wordsMax: number): string[] => {
  const words = new Map([...texts].map(([file, text]) => [file, splitWords(text)] as const));
  const seen = new Map<string, Place>();
  const found: string[] = [];
  for (const [file, list] of words)
    for (let at = 0; at + shingleWords <= list.length; at++) {
      const shingle = list.slice(at, at + shingleWords).join(' ');
      const before = seen.get(shingle);
      if (before === undefined) {
        seen.set(shingle, { file, at });
        continue;
      }
      const other = words.get(before.file) ?? [];
      let length = 0;
      while (list[at + length] !== undefined && list[at + length] === other[before.at + length]) length++;
      if (length > wordsMax)
        found.push(`${before.file} and ${file}: ${length} words "${list.slice(at, at + 12).join(' ')}"`);
      at += length > wordsMax ? length : 0;
    }
  return found;
};

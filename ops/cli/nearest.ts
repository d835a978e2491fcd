/**
 * What was probably meant by a word that is not understood. Pure.
 */

/** The known word that is at most two slips away, or `null`. */
export const findNearest = (word: string, known: readonly string[]): string | null => {
  const ranked = known
    .map((candidate) => ({ candidate, slips: countEdits(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.slips - b.slips);
  const best = ranked[0];
  return best !== undefined && best.slips <= 2 ? best.candidate : null;
};

/** Edit distance; both words are short. */
const countEdits = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
};

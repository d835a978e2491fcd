/**
 * Finds the known word that a mistyped word probably means. Pure. Used for settings and commands.
 */

const editsMax = 2;

/** The known word with the fewest edits, at most two, or `null`. */
export const findNearest = (word: string, known: readonly string[]): string | null => {
  const ranked = known
    .filter((candidate) => Math.abs(candidate.length - word.length) <= editsMax)
    .map((candidate) => ({ candidate, edits: countEdits(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= editsMax ? best.candidate : null;
};

/** The Levenshtein distance; both words are short. */
const countEdits = (word: string, other: string): number => {
  let distances = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= word.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (distances[j - 1] ?? 0) + (word[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (distances[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    distances = next;
  }
  return distances[other.length] ?? 0;
};

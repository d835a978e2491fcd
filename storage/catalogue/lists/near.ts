/**
 * The word that a search may mean by one that nothing has: a letter more, less or another, or two neighbours
 * that changed places. Digits are no letters: another number is another thing.
 *
 * `list_near` of the schema gives each word hashes of its first letters with one left out. Words that are one
 * letter apart have such a hash in common, so an index finds the listings; their words are compared here.
 * Called by search.ts with words that are folded.
 */
import type { Fragment, Sql } from '../../sql/client.ts';

/** What `list_near` takes for a word. */
const pieces = /[^ -/:-@[-`{-~\u2000-\u206F\u3000-\u303F]{4,}/gu;
/** Of the longer of two words. */
const lettersMin = 5;
const comparedMax = 100;

/** Splits a word, or all words of a listing, into those that may be near others. */
export const splitPieces = (text: string): readonly string[] => text.match(pieces) ?? [];

/** Whether one wrong letter makes one word of the other. */
export const isNear = (one: string, other: string): boolean => {
  const [a, b] = [[...one], [...other]];
  if (Math.max(a.length, b.length) < lettersMin) return false;
  for (const take of ['shift', 'pop'] as const) {
    const end = take === 'shift' ? 0 : -1;
    while (a.length > 0 && a.at(end) === b.at(end)) {
      a[take]();
      b[take]();
    }
  }
  if (/\d/.test([...a, ...b].join(''))) return false;
  const isSwapped = a.length === 2 && a[0] === b[1] && a[1] === b[0] && b.length === 2;
  return isSwapped || (a.length <= 1 && b.length <= 1 && a.length + b.length > 0);
};

/** Finds the most frequent word near this one among listings that meet the condition; `null` if none is. */
export const findNear = async (sql: Sql, piece: string, condition: Fragment): Promise<string | null> => {
  const rows = await sql<{ words: string }[]>`
    select words from search_entries where list_near(words) && list_near(${piece}) and ${condition}
    ${sql.unsafe(`limit ${comparedMax}`)}`;
  const counts = new Map<string, number>();
  for (const { words } of rows)
    for (const word of new Set(splitPieces(words)))
      if (isNear(word, piece)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const [best] = [...counts].sort((one, other) => other[1] - one[1]);
  return best?.[0] ?? null;
};

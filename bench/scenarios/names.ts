/**
 * Names and texts of listings for the search, as varied as those of a directory: some words are frequent,
 * most are rare. The same number gives the same names. Pure.
 */
import { createRandom, type Random } from '../shared/random.ts';

export interface Names {
  readonly username: string;
  readonly displayName: string;
  readonly short: string;
  readonly tags: readonly string[];
}

const starts =
  'al ba cor den el fa gri hol in jor kel lum mo nar ol per quin ros sul tam ur vel wis yar zin'.split(' ');
const middles = 'a be ci do en fi gu ho il ka lo mi nu or pa re sa ti um ve'.split(' ');
const ends = 'bot der gon helper king ly mer nox play rift son ton vox ward zone'.split(' ');
const vocabulary: readonly string[] = starts.flatMap((start) =>
  middles.flatMap((middle) => ends.map((end) => start + middle + end)),
);
export const tags = 'fun games music moderation utility economy levels social anime logging art'.split(' ');

/** The first ones far more often, as words of a language. */
const pickWord = (random: Random): string =>
  vocabulary[Math.floor(vocabulary.length * random.next() ** 3)] as string;

export const makeNames = (index: number): Names => {
  const random = createRandom(index * 7_919 + 1);
  const words = (count: number): string => Array.from({ length: count }, () => pickWord(random)).join(' ');
  const name = words(random.integer(1, 3));
  return {
    username: `${name.replaceAll(' ', '.')}.${index}`,
    displayName: name,
    short: words(8),
    tags: random.sample(tags, random.integer(1, 4)),
  };
};

/** A search as people send them: words, parts, pairs, unknown words, tags, any order, some later pages. */
export const drawSearch = (random: Random): string => {
  const word = pickWord(random);
  const start = random.below(Math.max(1, word.length - 4));
  const q = random.pick([
    word,
    word,
    word.slice(start, start + random.integer(3, 5)),
    word.slice(0, 2),
    `${word} ${pickWord(random)}`,
    `${word} ${random.pick(tags)}`,
    `${word}qx`,
    '',
  ]);
  const query = new URLSearchParams({
    q,
    sort: random.pick(['votes', 'votes', 'clicks', 'growth', 'new', 'name']),
  });
  if (random.chance(0.2)) query.set('tags', random.sample(tags, random.integer(1, 2)).join());
  if (random.chance(0.3)) query.set('kind', random.pick(['bot', 'server']));
  if (random.chance(0.1)) query.set('page', String(random.integer(2, 12)));
  return `/search?${query}`;
};

/**
 * Chooses the media type of a reply by the `Accept` header (RFC 9110, section 12.5.1): names in any case,
 * ranges, and weights. The weight `q=0` refuses a type. Pure.
 */
import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';

interface MediaRange {
  readonly type: string;
  readonly weight: number;
}

/** Further entries of the header are ignored. */
const rangesMax = 32;
/** Longer headers are read each time. */
const acceptCachedMax = 512;
const weightShape = /;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/;

const parseRanges = (accept: string): readonly MediaRange[] =>
  accept
    .toLowerCase()
    .split(',', rangesMax)
    .map((entry) => ({
      type: (entry.split(';', 1)[0] as string).trim(),
      weight: Number(weightShape.exec(entry)?.[1] ?? 1),
    }));

/**
 * How much the client wants a type: the weight of the most specific range that covers it, 0 for none. Weights
 * have at most three decimals, so what is added decides only between equal ones.
 */
const weigh = (ranges: readonly MediaRange[], type: string): number => {
  const names = [type, type.replace(/\/.*/, '/*'), '*/*'];
  for (const [index, name] of names.entries()) {
    const range = ranges.find((candidate) => candidate.type === name);
    if (range !== undefined) return range.weight && range.weight - index * 0.000_1;
  }
  return 0;
};

/**
 * Returns the offered type that the client prefers; among equals one that it names, then the first. Without
 * `Accept`, or if it takes none of them, that is the first.
 */
export const chooseMediaType = <Type extends string>(
  accept: string,
  offered: readonly [Type, ...Type[]],
): Type => {
  if (accept === '') return offered[0];
  const ranges = parseRanges(accept);
  const weights = offered.map((type) => weigh(ranges, type));
  return offered[weights.indexOf(Math.max(...weights))] as Type;
};

/** Answers by header: browsers of one kind all send the same. */
const preferred = createTwoGenerationCache<boolean>(64);

const comparePreference = (accept: string, type: string, other: string): boolean => {
  const ranges = parseRanges(accept);
  const toThousandths = (weight: number): number => Math.round(weight * 1_000);
  return toThousandths(weigh(ranges, type)) > toThousandths(weigh(ranges, other));
};

/** Whether the client gives HTML a greater weight than JSON; a tie, or no header, is none. */
export const isPagePreferred = (accept: string): boolean => {
  if (accept === '') return false;
  const known = preferred.get(accept);
  if (known !== undefined) return known;
  const answer = comparePreference(accept, 'text/html', 'application/json');
  if (accept.length <= acceptCachedMax) preferred.set(accept, answer);
  return answer;
};

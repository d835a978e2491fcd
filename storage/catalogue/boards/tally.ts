/**
 * What an edition needs of the scores of a whole board, collected part by part: the listings that can be
 * among its first places, and how many listings are above which score. Pure.
 *
 * Scores are kept as sorted runs, merged as they grow: sorting a million at once would block the event loop
 * for a tenth of a second.
 */
import { type Place, placesMax, type ScoreCounts } from '../../../engine/rules/boards.ts';

export type ScoredListing = Omit<Place, 'change'>;

export type Tally = ReturnType<typeof createTally>;

/** Scores of the table of counts: a rank is right within one part in so many. */
const countsMax = 1_000;

const merge = (left: Float64Array, right: Float64Array): Float64Array => {
  const merged = new Float64Array(left.length + right.length);
  for (let to = 0, from = 0, other = 0; to < merged.length; to++) {
    const isLeft = other >= right.length || (left[from] as number) <= (right[other] as number);
    merged[to] = (isLeft ? left[from++] : right[other++]) as number;
  }
  return merged;
};

/** Lists each score at which the share of listings above it passes another step. */
const countScores = (ascending: Float64Array): ScoreCounts => {
  const listings = ascending.length;
  const [scores, above]: [number[], number[]] = [[], []];
  const toStep = (count: number): number => Math.floor((count * countsMax) / listings);
  for (let end = listings; end > 0; ) {
    const score = ascending[end - 1] as number;
    let start = end - 1;
    while (start > 0 && ascending[start - 1] === score) start--;
    if (toStep(listings - start) > toStep(listings - end)) {
      scores.push(score);
      above.push(listings - end);
    }
    end = start;
  }
  return { listings, scores, above };
};

const compare = (left: ScoredListing, right: ScoredListing): number =>
  right.score - left.score || left.incarnation - right.incarnation;

/**
 * Creates an empty tally. `placed` have a place in the edition before: of listings with equal scores they
 * come first, so they stay candidates.
 */
export const createTally = (placed: ReadonlySet<number>) => {
  const runs: Float64Array[] = [];
  let candidates: ScoredListing[] = [];
  /** A listing that had no place needs a higher score to be a candidate. */
  let least = Number.NEGATIVE_INFINITY;
  const addRun = (added: Float64Array): void => {
    let run = added;
    for (let last = runs.at(-1); last !== undefined && last.length <= run.length; last = runs.at(-1)) {
      run = merge(last, run);
      runs.pop();
    }
    runs.push(run);
  };
  const shorten = (): void => {
    candidates.sort(compare);
    const others = candidates.slice(placesMax).filter(({ incarnation }) => placed.has(incarnation));
    candidates = candidates.slice(0, placesMax);
    least = candidates[placesMax - 1]?.score ?? least;
    candidates.push(...others);
  };
  return {
    /** Adds a part; the parts come in ascending order of `incarnation`. */
    add: (part: readonly ScoredListing[]): void => {
      addRun(Float64Array.from(part, ({ score }) => score).sort());
      candidates.push(...part.filter(({ score, incarnation }) => score > least || placed.has(incarnation)));
      if (candidates.length > 4 * placesMax) shorten();
    },
    /** Lists at most twice `placesMax` listings, in any order; those that get a place are among them. */
    listCandidates: (): readonly ScoredListing[] => {
      shorten();
      return candidates;
    },
    count: () => countScores(runs.reduceRight((merged, run) => merge(run, merged), new Float64Array())),
  };
};

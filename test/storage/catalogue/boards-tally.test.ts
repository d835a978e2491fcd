/**
 * What an edition needs of all scores, against sorting them: the first places and the table of counts, for
 * parts of any size, with many equal scores and with places of the edition before.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { placesMax, type ScoreCounts } from '../../../engine/rules/boards.ts';
import { createTally, type ScoredListing } from '../../../storage/catalogue/boards/tally.ts';

const test = suite('tally of a board');
const random = createRandom(11);

/** Listings in ascending order of incarnation; the smaller `different`, the more have equal scores. */
const generate = (count: number, different: number): readonly ScoredListing[] =>
  Array.from({ length: count }, (_, index) => {
    const score = random.integer(-different, different) / 8;
    return { incarnation: 1 + index * 3, score, ratio: random.chance(0.5) ? score / 7 : null };
  });

const tallyInParts = (listings: readonly ScoredListing[], placed: ReadonlySet<number>) => {
  const tally = createTally(placed);
  for (let from = 0; from < listings.length; ) {
    const size = random.integer(1, 2_500);
    tally.add(listings.slice(from, from + size));
    from += size;
  }
  return tally;
};

/** The order of an edition: score, place before, age. */
const sortPlaces = (listings: readonly ScoredListing[], places: ReadonlyMap<number, number>) => {
  const place = ({ incarnation }: ScoredListing): number => places.get(incarnation) ?? placesMax;
  const sorted = [...listings].sort(
    (left, right) =>
      right.score - left.score || place(left) - place(right) || left.incarnation - right.incarnation,
  );
  return sorted.slice(0, placesMax);
};

const countAll = (listings: readonly ScoredListing[]): ScoreCounts => {
  const distinct = [...new Set(listings.map(({ score }) => score))].sort((left, right) => right - left);
  const rows = distinct.map((score) => ({
    score,
    above: listings.filter((other) => other.score > score).length,
    upto: listings.filter((other) => other.score >= score).length,
  }));
  const toStep = (count: number): number => Math.floor((count * 1_000) / listings.length);
  const kept = rows.filter(({ above, upto }) => toStep(upto) > toStep(above));
  return {
    listings: listings.length,
    scores: kept.map(({ score }) => score),
    above: kept.map(({ above }) => above),
  };
};

for (const [count, different] of [
  [9_000, 4],
  [9_000, 300],
  [7_000, 1_000_000],
  [500, 20],
] as const) {
  test(`the first places of ${count} listings with at most ${2 * different + 1} scores`, () => {
    const listings = generate(count, different);
    // The youngest first: by age alone they would come last.
    const before = listings.filter(() => random.chance(0.1)).reverse();
    const places = new Map(before.map(({ incarnation }, place) => [incarnation, place]));
    const tally = tallyInParts(listings, new Set(places.keys()));
    const candidates = tally.listCandidates();
    assert.ok(candidates.length <= 2 * placesMax, `${candidates.length}`);
    assert.equal(sortPlaces(candidates, places), sortPlaces(listings, places));
  });
}

for (const [count, different] of [
  [3_000, 3],
  [3_000, 200],
  [2_500, 1_000_000],
  [10, 2],
] as const) {
  test(`the counts of ${count} listings with at most ${2 * different + 1} scores`, () => {
    const listings = generate(count, different);
    assert.equal(tallyInParts(listings, new Set()).count(), countAll(listings));
  });
}

test('no listing at all', () => {
  const tally = createTally(new Set([1]));
  assert.equal(tally.listCandidates(), []);
  assert.equal(tally.count(), { listings: 0, scores: [], above: [] });
});

test.run();

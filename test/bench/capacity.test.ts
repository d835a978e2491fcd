/**
 * The model of `bench -- capacity`: lines through sizes that are far apart, and what they say of larger ones.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compareNeeds, fitLine, fitModel, predict } from '../../bench/capacity/model.ts';

const test = suite('capacity');

const isNear = (value: number, expected: number): boolean => Math.abs(value / expected - 1) < 0.01;

test('the fixed part shows at the small size, the part of a listing at the large one', () => {
  const { fixed, perListing } = fitLine([
    [1_000, 300 + 2],
    [30_000, 300 + 60],
    [300_000, 300 + 600],
  ]);

  assert.ok(isNear(fixed, 300), String(fixed));
  assert.ok(isNear(perListing, 0.002), String(perListing));
});

test('a small size counts as much as a large one', () => {
  const { fixed } = fitLine([
    [1_000, 10],
    [300_000, 3_300],
    [300_000, 2_700],
  ]);

  assert.ok(fixed > 0 && fixed < 10, String(fixed));
});

test('memory and disk grow by the listing, start and requests do not', () => {
  const model = fitModel([
    { listings: 1_000, needs: { 'disk MiB': 51, 'start s': 3 } },
    { listings: 30_000, needs: { 'disk MiB': 80, 'start s': 5 } },
    { listings: 300_000, needs: { 'disk MiB': 350, 'start s': 4 } },
  ]);

  const { needs } = predict(model, 1_000_000);

  assert.ok(isNear(needs['disk MiB'] ?? 0, 1_050), String(needs['disk MiB']));
  assert.is(needs['start s'], 4);
  assert.equal(compareNeeds({ a: 110 }, { a: 100 }), { a: 1.1 });
});

test.run();

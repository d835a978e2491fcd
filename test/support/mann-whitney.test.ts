/**
 * The statistic by values worked out by hand.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mannWhitney } from './mann-whitney.ts';

const test = suite('Mann–Whitney');
const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

test('equal sets differ by nothing, sets apart by more than chance', () => {
  assert.ok(Math.abs(mannWhitney(range(0, 50), range(0, 50)) - 1) < 1e-6);
  assert.is(mannWhitney([5, 5, 5], [5, 5]), 1);
  assert.ok(mannWhitney(range(0, 100), range(100, 200)) < 1e-9);
});

test('a shift of a part of the spread has the chance that the formula gives', () => {
  // U = 3,321 of 10,000, mean 5,000, deviation 409.27 (no ties): z = 4.1024, and twice its tail.
  const chance = mannWhitney(
    range(0, 100),
    range(0, 100).map((value) => value + 18.5),
  );

  assert.ok(Math.abs(chance - 4.088e-5) < 2e-7, String(chance));
});

test('ties take the mean of their ranks', () => {
  // Ranks 2, 2, 4.5 against 2, 4.5, 6: U = 2.5, mean 4.5, deviation 2.1213 with ties: z = 0.9428.
  assert.ok(Math.abs(mannWhitney([1, 1, 2], [1, 2, 3]) - 0.34578) < 1e-4);
});

test.run();

/**
 * Tier slices and their value: the documented examples, and properties for any tiers and numbers.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type CreditTier,
  computeTierSlices,
  computeValueCents,
  splitIntoTiers,
} from '../../../engine/rules/credits.ts';

const test = suite('credits');

const tiers: readonly CreditTier[] = [
  { votes: 100n, cents: 10n },
  { votes: 200n, cents: 5n },
  { votes: 50n, cents: 2n },
];
const anyTier = fc.record({ votes: fc.bigInt(1n, 1_000n), cents: fc.bigInt(0n, 1_000n) });
const anyTiers = fc.array(anyTier, { maxLength: 6 });
const someTiers = fc.array(anyTier, { minLength: 1, maxLength: 6 });
const anyVotes = fc.bigInt(0n, 10_000n);
const sum = (numbers: readonly bigint[]): bigint => numbers.reduce((total, one) => total + one, 0n);

test('the documented examples', () => {
  for (const [votes, slices, worth] of [
    [0n, [0n, 0n, 0n], 0n],
    [40n, [40n, 0n, 0n], 400n],
    [100n, [100n, 0n, 0n], 1_000n],
    [101n, [100n, 1n, 0n], 1_005n],
    [250n, [100n, 150n, 0n], 1_750n],
    [350n, [100n, 200n, 50n], 2_100n],
    [625n, [100n, 200n, 325n], 2_650n],
  ] as const) {
    assert.equal(splitIntoTiers(tiers, votes), slices);
    assert.is(computeValueCents(tiers, votes, 0n), worth);
  }
});

test('without tiers there are no slices and no value', () => {
  assert.equal(splitIntoTiers([], 625n), []);
  assert.is(computeValueCents([], 625n, 10n), 0n);
});

test('625 votes redeemed at once have the same value as in hundreds', () => {
  let worth = 0n;
  for (let redeemed = 0n; redeemed < 600n; redeemed += 100n)
    worth += computeValueCents(tiers, 100n, redeemed);
  worth += computeValueCents(tiers, 25n, 600n);

  assert.is(worth, 2_650n);
});

test('the remaining votes are shown in the slices that they will fill', () => {
  assert.equal(computeTierSlices(tiers, 150n, 40n), [60n, 90n, 0n]);
  assert.equal(computeTierSlices(tiers, 10n, 400n), [0n, 0n, 10n]);
});

test('numbers beyond 2^53 keep every digit', () => {
  const huge = 18_446_744_073_709_552_000n;

  assert.is(computeValueCents([{ votes: 1n, cents: 1_000_000n }], huge, 0n), huge * 1_000_000n);
  assert.equal(splitIntoTiers(tiers, huge), [100n, 200n, huge - 300n]);
});

test('no vote is lost or paid twice, and only the last slice is unbounded', () => {
  fc.assert(
    fc.property(someTiers, anyVotes, anyVotes, (any, votes, redeemed) => {
      assert.is(sum(computeTierSlices(any, votes, redeemed)), votes);
      for (const [index, taken] of splitIntoTiers(any, votes).entries()) {
        assert.ok(taken >= 0n);
        if (index < any.length - 1) assert.ok(taken <= (any[index] as CreditTier).votes);
      }
    }),
  );
});

test('splitting a redeem in any way does not change its value', () => {
  fc.assert(
    fc.property(anyTiers, anyVotes, fc.array(anyVotes, { maxLength: 8 }), (any, redeemed, parts) => {
      let before = redeemed;
      let worth = 0n;
      for (const part of parts) {
        worth += computeValueCents(any, part, before);
        before += part;
      }
      assert.is(worth, computeValueCents(any, sum(parts), redeemed));
    }),
  );
});

test.run();

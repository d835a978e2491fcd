/**
 * Visitor numbers.
 */
import { createHmac } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeVisitor, createVisitorHasher } from '../../../engine/actors/visitors.ts';

const test = suite('visitors');

const secret = new Uint8Array(32).fill(7);

test('a visitor is the first eight bytes of the keyed hash, as a signed integer', () => {
  const digest = createHmac('sha256', secret).update('192.0.2.1').digest();

  assert.is(computeVisitor(secret, '192.0.2.1'), digest.readBigInt64BE(0).toString());
});

test('the same address is the same visitor, another address another one', () => {
  assert.is(computeVisitor(secret, '192.0.2.1'), computeVisitor(secret, '192.0.2.1'));
  assert.is.not(computeVisitor(secret, '192.0.2.1'), computeVisitor(secret, '192.0.2.2'));
});

test('a visitor number depends on the secret: with another secret it is another number', () => {
  assert.is.not(computeVisitor(secret, '192.0.2.1'), computeVisitor(new Uint8Array(32), '192.0.2.1'));
});

test('every visitor number fits a signed integer of 64 bits', () => {
  const numbers = Array.from({ length: 200 }, (_, index) =>
    BigInt(computeVisitor(secret, `visitor ${index}`)),
  );

  assert.equal(
    numbers.filter((number) => BigInt.asIntN(64, number) !== number),
    [],
  );
  assert.ok(numbers.some((number) => number < 0n) && numbers.some((number) => number > 0n));
});

test('the fast hasher computes the same number for any length of secret and address', () => {
  for (const secretBytes of [1, 32, 64, 65, 200]) {
    const key = new Uint8Array(secretBytes).fill(secretBytes);
    const numberOf = createVisitorHasher(key);
    for (const length of [0, 1, 9, 45, 63, 64, 65, 500]) {
      for (const address of ['1'.repeat(length), 'é'.repeat(length)]) {
        assert.is(numberOf(address), computeVisitor(key, address));
        assert.is(numberOf(address), computeVisitor(key, address));
      }
    }
  }
});

test.run();

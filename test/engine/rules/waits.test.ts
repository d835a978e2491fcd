/**
 * A time left to wait, as clients read it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { waitPartsOf, waitSecondsOf } from '../../../engine/rules/waits.ts';

const test = suite('waits');

test('a wait is told in whole seconds, rounded up', () => {
  assert.equal(waitPartsOf(43_199_001), { hours: 12, minutes: 0, seconds: 0 });
  assert.equal(waitPartsOf(3_661_000), { hours: 1, minutes: 1, seconds: 1 });
  assert.equal(waitPartsOf(0), { hours: 0, minutes: 0, seconds: 0 });
  assert.is(waitSecondsOf(1), 1);
  assert.is(waitSecondsOf(-5), 0);
});

test.run();

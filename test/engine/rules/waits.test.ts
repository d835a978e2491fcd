/**
 * The remaining wait as shown to clients.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toWaitParts, toWaitSeconds } from '../../../engine/rules/waits.ts';

const test = suite('waits');

test('a wait is shown in whole seconds, rounded up', () => {
  assert.equal(toWaitParts(43_199_001), { hours: 12, minutes: 0, seconds: 0 });
  assert.equal(toWaitParts(3_661_000), { hours: 1, minutes: 1, seconds: 1 });
  assert.equal(toWaitParts(0), { hours: 0, minutes: 0, seconds: 0 });
  assert.is(toWaitSeconds(1), 1);
  assert.is(toWaitSeconds(-5), 0);
});

test.run();

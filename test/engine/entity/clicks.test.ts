/**
 * Counting clicks and visitors: the cap, and counters that would overflow. Pure functions, by table.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canCountVisitor, countClick, countInvite } from '../../../engine/entity/apply.ts';
import { emptyTotals } from '../../../engine/entity/state.ts';
import { limits } from '../../../engine/limits.ts';

const test = suite('clicks');

test('a click counts once, and once more as unique for a new visitor', () => {
  assert.equal(countClick(emptyTotals, false), { ...emptyTotals, clicks: 1 });
  assert.equal(countClick(emptyTotals, true), { ...emptyTotals, clicks: 1, uniqueClicks: 1 });
});

test('at the cap of visitors unique clicks no longer grow', () => {
  const state = { ...emptyTotals, clicks: 20, uniqueClicks: 9 };

  assert.is(canCountVisitor(state, 10), true);
  assert.is(canCountVisitor({ ...state, uniqueClicks: 10 }, 10), false);
});

test('a counter at its maximum refuses rather than lose digits', () => {
  const full = { ...emptyTotals, clicks: limits.counterMax, inviteClicks: limits.counterMax };
  const room = { ...emptyTotals, clicks: limits.counterMax - 1, inviteClicks: limits.counterMax - 1 };

  assert.is(countClick(full, true), null);
  assert.is(countInvite(full), null);
  assert.is(countClick(room, false)?.clicks, limits.counterMax);
  assert.is(countInvite(room)?.inviteClicks, limits.counterMax);
});

test.run();

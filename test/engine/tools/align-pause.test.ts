/**
 * Pauses of repeated work end together, none drifts, and short ones stay as they are.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { alignPause } from '../../../engine/tools/align-pause.ts';

const test = suite('aligned pauses');

test('pauses of whole seconds end at whole seconds, others at half ones, at most half of that off', () => {
  for (const [pauseMs, gridMs] of [
    [1_000, 1_000],
    [3_000, 1_000],
    [30_000, 1_000],
    [1_500, 500],
    [1_234, 500],
  ] as const)
    for (let nowMs = 0.25; nowMs < 2_000; nowMs += 7.5) {
      const aligned = alignPause(pauseMs, nowMs);
      assert.ok(Number.isInteger(aligned));
      assert.ok(Math.abs(aligned - pauseMs) <= gridMs / 2 + 1, `${pauseMs} at ${nowMs}: ${aligned}`);
      assert.ok((nowMs + aligned) % gridMs < 1, `${pauseMs} at ${nowMs}: ${aligned}`);
    }
});

test('a timer that fires a little early or late keeps its rhythm', () => {
  for (const lateMs of [-2, -0.4, 0, 0.4, 3, 40])
    assert.ok(Math.abs(alignPause(1_000, 5_000 + lateMs) - 1_000 + lateMs) < 1);
});

test('a pause below a second stays as it is', () => {
  assert.is(alignPause(400, 17.3), 400);
});

test.run();

/**
 * What the charts of the screen *Now* draw: seconds without a value, and times without points, are gaps.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findLonely, toSeries } from '../../../http/operator/page/series.ts';
import type { LivePoint } from '../../../http/telemetry/node-status.ts';

const test = suite('series of the charts');

const toPoint = (second: number, p50_ms: number | null): LivePoint => ({
  at_ms: second * 1_000,
  requests_per_s: 1,
  failures_per_s: 0,
  p50_ms,
  p99_ms: null,
  hot_store_ms: null,
  flush_lag_s: 0,
});

test('idle seconds stay empty, and missing ones are a gap', () => {
  const points = [toPoint(1, 5), toPoint(2, null), toPoint(3, 6), toPoint(5, 7), toPoint(90, 8)];

  assert.equal(toSeries(points, ['p50_ms', 'requests_per_s']), [
    [1, 2, 3, 5, 6, 90],
    [5, null, 6, 7, null, 8],
    [1, 1, 1, 1, null, 1],
  ]);
  assert.equal(toSeries([], ['p50_ms']), [[], []]);
});

test('a value between two gaps needs a dot', () => {
  assert.equal(findLonely([5, null, 6, 7, null, 8, undefined]), [0, 5]);
});

test.run();

/**
 * The log of failed requests under load.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRateLimitedLog, failuresPerSecondMax } from '../../../http/telemetry/rate-limited-log.ts';

const test = suite('sparing log');

interface Line {
  readonly id?: number;
  readonly suppressed?: number;
}
const open = () => {
  const lines: Line[] = [];
  const time = { nowMs: 5_000 };
  const target = {
    error: (fields: Line) => void lines.push(fields),
    warn: () => {},
    debug: () => {},
    isLevelEnabled: () => false,
  };
  const log = createRateLimitedLog(target as never, { monotonicMs: () => time.nowMs });
  const fail = (count: number): void => {
    for (let id = 0; id < count; id++) log.error({ id }, 'request failed');
  };
  return { lines, time, fail };
};

test('a few failures are all written', () => {
  const { lines, fail } = open();

  fail(failuresPerSecondMax);

  assert.is(lines.length, failuresPerSecondMax);
  assert.not.ok(lines.some((line) => 'suppressed' in line));
});

test('a flood writes a limited number of lines per second; the next line counts the suppressed', () => {
  const { lines, time, fail } = open();

  fail(failuresPerSecondMax + 1_000);
  time.nowMs += 1_000;
  fail(2);

  assert.is(lines.length, failuresPerSecondMax + 2);
  assert.equal(
    lines.slice(-2).map((line) => line.suppressed),
    [1_000, undefined],
  );
});

test.run();

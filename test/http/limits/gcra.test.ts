/**
 * The arithmetic of a rate limit, by table with a virtual clock.
 *
 * Pure functions; the property holds for any sequence of arrivals.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decideRate, type LimitPolicy } from '../../../http/limits/limiter.ts';

const test = suite('gcra');
/** Five a minute, five at once. */
const login: LimitPolicy = { name: 'login', burst: 5, intervalMs: 12_000 };

test('a burst passes, the next request gets a retry time, and then passes', () => {
  const steps: readonly [number, boolean, number, number][] = [
    [0, true, 4, 0],
    [0, true, 3, 0],
    [0, true, 2, 0],
    [0, true, 1, 0],
    [0, true, 0, 0],
    [0, false, 0, 12_000],
    [11_999, false, 0, 1],
    [12_000, true, 0, 0],
    [12_000, false, 0, 12_000],
    [36_000, true, 1, 0],
    [1_000_000, true, 4, 0],
  ];
  let tatMs = 0;
  for (const [nowMs, allowed, remaining, retryAfterMs] of steps) {
    const decision = decideRate(login, tatMs, 1_000_000_000 + nowMs);
    tatMs = decision.tatMs;
    assert.equal(
      [nowMs, decision.allowed, decision.remaining, decision.retryAfterMs],
      [nowMs, allowed, remaining, retryAfterMs],
    );
  }
});

test('early retries are not punished', () => {
  let tatMs = 0;
  for (let count = 0; count < 5; count++) tatMs = decideRate(login, tatMs, 1_000).tatMs;

  for (let count = 0; count < 100; count++) tatMs = decideRate(login, tatMs, 1_000 + count).tatMs;

  assert.ok(decideRate(login, tatMs, 13_000).allowed);
});

test('in any window, at most the burst and what the window frees passes', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(gaps, (waits) => {
      let nowMs = 0;
      let tatMs = 0;
      const passed: number[] = [];
      for (const wait of waits) {
        nowMs += wait;
        const decision = decideRate(login, tatMs, nowMs);
        tatMs = decision.tatMs;
        if (decision.allowed) passed.push(nowMs);
        else assert.ok(decideRate(login, tatMs, nowMs + decision.retryAfterMs).allowed);
      }
      passed.forEach((fromMs, index) => {
        const inWindow = passed.slice(index).filter((atMs) => atMs < fromMs + 60_000).length;
        assert.ok(inWindow <= 10, `${inWindow} in a minute`);
      });
    }),
  );
});

test.run();

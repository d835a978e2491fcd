/**
 * Folding uptime checks: one step equals check by check, outages do not count, never backwards.
 * By table, and by property against a slow reference.
 */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { UptimeRules } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type PresenceStatus } from '../../../engine/entity/state.ts';
import { foldUptime } from '../../../engine/entity/uptime.ts';

const test = suite('uptime');

const minuteMs = 60_000;
const checkMs = 5 * minuteMs;
const startMs = 1_800_000_000_000;
const rules: UptimeRules = { checkMs, freshMs: 15 * minuteMs, downtimes: [] };

const bot = (change: Partial<typeof emptyTotals> & { listed?: boolean; listedSinceMs?: number } = {}) => {
  const { listed = true, listedSinceMs = startMs, ...totals } = change;
  const facts = { ...emptyFacts, listed, listedSinceMs };
  return { ...emptyTotals, uptimeCheckedMs: startMs, lastStatsPostMs: startMs, ...totals, facts };
};
const counts = (state: { uptime: number; totalUptime: number }) => [state.uptime, state.totalUptime];

/** Reference: one check after the other, as the documents describe it. */
const checkByCheck = (state: ReturnType<typeof bot>, nowMs: number, given: UptimeRules) => {
  let { uptime, totalUptime, uptimeCheckedMs } = state;
  const first = (Math.floor(startMs / checkMs) - 50) * checkMs;
  for (let checkAtMs = first; checkAtMs <= nowMs; checkAtMs += checkMs) {
    if (checkAtMs <= state.uptimeCheckedMs || !state.facts.listed || checkAtMs <= state.facts.listedSinceMs)
      continue;
    uptimeCheckedMs = checkAtMs;
    if (given.downtimes.some(({ fromMs, toMs }) => checkAtMs >= fromMs && checkAtMs < toMs)) continue;
    totalUptime += 1;
    const fresh = state.lastStatsPostMs > 0 && checkAtMs <= state.lastStatsPostMs + given.freshMs;
    if (fresh && state.status !== 'offline') uptime += 1;
  }
  return { ...state, uptime, totalUptime, uptimeCheckedMs };
};

test('a check counts at its time, not 1 ms before', () => {
  const state = bot();

  assert.is(foldUptime(state, startMs + checkMs - 1, rules), state);
  assert.equal(counts(foldUptime(state, startMs + checkMs, rules)), [1, 1]);
});

test('a check passes until stats are 15 minutes old, to the millisecond', () => {
  assert.equal(counts(foldUptime(bot(), startMs + 3 * checkMs, rules)), [3, 3]);
  assert.equal(counts(foldUptime(bot(), startMs + 4 * checkMs, rules)), [3, 4]);
  assert.equal(
    counts(foldUptime(bot({ lastStatsPostMs: startMs - 1 }), startMs + 3 * checkMs, rules)),
    [2, 3],
  );
});

test('if the time of the listing is unknown, counting starts now', () => {
  const folded = foldUptime(bot({ listedSinceMs: 0, uptimeCheckedMs: 0 }), startMs + 1, rules);

  assert.equal(counts(folded), [0, 0]);
  assert.is(folded.uptimeCheckedMs, startMs);
});

test('folding a month is as fast as folding a minute', () => {
  const monthMs = 30 * 86_400_000;
  const before = performance.now();
  for (let round = 0; round < 10_000; round++) foldUptime(bot(), startMs + monthMs, rules);

  assert.ok(performance.now() - before < 500);
  assert.equal(counts(foldUptime(bot(), startMs + monthMs, rules)), [3, monthMs / checkMs]);
});

const near = fc.integer({ min: -40 * checkMs, max: 40 * checkMs }).map((offset) => startMs + offset);
const onEdge = fc.integer({ min: -40, max: 40 }).map((checks) => startMs + checks * checkMs);
const anyTime = fc.oneof(
  near,
  onEdge,
  onEdge.map((atMs) => atMs + 1),
  onEdge.map((atMs) => atMs - 1),
);
const outages = fc.uniqueArray(anyTime, { maxLength: 8 }).map((times) => {
  const sorted = times.sort((left, right) => left - right);
  return sorted.flatMap((fromMs, index) => {
    const toMs = sorted[index + 1];
    return index % 2 === 0 && toMs !== undefined ? [{ fromMs, toMs }] : [];
  });
});
const anyBot = fc
  .record({
    lastStatsPostMs: fc.oneof(anyTime, fc.constant(0)),
    uptimeCheckedMs: onEdge,
    listedSinceMs: anyTime,
    listed: fc.boolean(),
    status: fc.constantFrom<PresenceStatus | ''>('', 'online', 'dnd', 'offline'),
  })
  .map(bot);

test('folding at once equals folding check by check', () => {
  fc.assert(
    fc.property(anyBot, anyTime, outages, (state, nowMs, given) => {
      const own = { ...rules, downtimes: given };
      assert.equal(foldUptime(state, nowMs, own), checkByCheck(state, nowMs, own));
    }),
    { numRuns: 1_000 },
  );
});

test('folding in steps equals folding at once, and repeats change nothing', () => {
  fc.assert(
    fc.property(anyBot, fc.array(anyTime, { minLength: 1 }), outages, (state, times, given) => {
      const own = { ...rules, downtimes: given };
      const sorted = times.toSorted((left, right) => left - right);
      const stepped = sorted.reduce((folded, nowMs) => foldUptime(folded, nowMs, own), state);
      const lastMs = sorted.at(-1) ?? 0;
      assert.equal(stepped, foldUptime(state, lastMs, own));
      assert.is(foldUptime(stepped, lastMs, own), stepped);
    }),
    { numRuns: 1_000 },
  );
});

test('no number decreases, whatever the order of timestamps', () => {
  fc.assert(
    fc.property(anyBot, fc.array(anyTime), outages, (state, times, given) => {
      let folded = state;
      for (const nowMs of times) {
        const next = foldUptime(folded, nowMs, { ...rules, downtimes: given });
        assert.ok(next.uptime >= folded.uptime && next.totalUptime >= folded.totalUptime);
        assert.ok(next.uptimeCheckedMs >= folded.uptimeCheckedMs && next.uptime <= next.totalUptime);
        folded = next;
      }
    }),
  );
});

test.run();

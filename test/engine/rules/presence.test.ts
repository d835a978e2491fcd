/**
 * The presence that a bot's page shows.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computePresence, presenceFreshMs } from '../../../engine/rules/presence.ts';

const test = suite('presence');
const nowMs = 1_800_000_000_000;

test('the last posted status counts, however old', () => {
  assert.is(computePresence({ status: 'dnd', lastStatsPostMs: 1 }, nowMs), 'dnd');
  assert.is(computePresence({ status: 'offline', lastStatsPostMs: nowMs }, nowMs), 'offline');
});

test('without a posted status, stats within a day mean online', () => {
  assert.is(computePresence({ status: '', lastStatsPostMs: nowMs - presenceFreshMs }, nowMs), 'online');
  assert.is(computePresence({ status: '', lastStatsPostMs: nowMs - presenceFreshMs - 1 }, nowMs), 'offline');
  assert.is(computePresence({ status: '', lastStatsPostMs: 0 }, 1_000), 'offline');
});

test.run();

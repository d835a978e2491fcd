/**
 * Postgres stopped `immediate` while two flushers work. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { faultCase } from '../harness/fault-case.ts';
import { surviveStops } from './postgres-flusher-outage.ts';

const test = suite('outage of postgres under flushers');

faultCase(test, {
  title: 'stopped during flushes: no count is lost, doubled or lowered, and flushing goes on by itself',
  name: 'Postgres stopped immediate under flushers',
  counts: { quick: 3, faults: 20 },
  once: true,
  run: async ({ count }) => {
    const figures = await surviveStops(count);
    const { stops, votes, failedRounds } = figures;
    const failedMin = count === 3 ? 1 : count;
    assert.is(stops, count);
    assert.ok(votes > 50 && failedRounds >= failedMin, JSON.stringify(figures));
    return figures;
  },
});

test.run();

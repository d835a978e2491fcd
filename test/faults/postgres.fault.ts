/**
 * Postgres stopped `immediate` 20 times while two flushers work. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { surviveStops } from '../storage/postgres/outage.ts';

const test = suite('postgres stopped immediate, 20 times');

test('nothing is lost, doubled, or goes back, and flushing goes on by itself', async () => {
  const figures = await surviveStops(20);
  const words = Object.entries(figures).map(([word, value]) => `${word} ${value}`);
  console.log(`\nfigures: ${['postgres stopped immediate', ...words].join(' | ')}`);

  assert.is(figures.stops, 20);
  assert.ok(figures.failedRounds >= 20, `${figures.failedRounds} failed rounds`);
});

test.run();

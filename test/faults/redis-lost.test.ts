/**
 * Redis emptied under two nodes that know everything. More of it in redis-lost.fault.ts. Time limit: 120 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { runEmptiedAtRest } from './redis-lost.ts';

const test = suite('redis emptied');

test('all comes back from SQL under a new generation, and counting goes on from there', async () => {
  const figures = await runEmptiedAtRest(seed);

  printFigures(`Redis emptied at rest (seed ${seed})`, figures);
  assert.ok(figures.acked > 250, `${figures.acked} acknowledged`);
});

test.run();

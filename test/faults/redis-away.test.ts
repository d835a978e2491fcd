/**
 * Redis killed, full, read-only, busy and locked, once each, under the load of two nodes. More of it
 * in redis-away.fault.ts. Time limit: 120 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { refusals, runRedisFaults } from './redis-away.ts';

const test = suite('redis away');

test('killed, or refusing: nothing acknowledged is lost, what is refused was not counted', async () => {
  const figures = await runRedisFaults(seed, { kills: 1, refusals });
  const words = refusals.map(({ word }) => word).join(', ');
  printFigures(`Redis killed, ${words} (seed ${seed})`, figures);
});

test.run();

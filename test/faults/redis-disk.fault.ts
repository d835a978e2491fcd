/**
 * Redis that loads for seconds, or lost its last second. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { runLoading, runTailLost } from './redis-disk.ts';

const test = suite('redis and its disk');

test('while Redis loads nothing is counted, and it goes on by itself', async () => {
  printFigures(`Redis loading (seed ${seed})`, await runLoading(3, seed));
});

test('the last second of a Redis that syncs every second comes back from the nodes', async () => {
  printFigures(`Redis without its last second (seed ${seed})`, await runTailLost(10, seed));
});

test.run();

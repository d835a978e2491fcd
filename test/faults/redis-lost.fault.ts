/**
 * Redis emptied under load, ten times: never small numbers. Time limit: 600 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { runEmptiedAtRest, runEmptiedUnderLoad } from './redis-lost.ts';

const test = suite('redis emptied, again and again');

test('emptied at rest: nothing is lost', async () => {
  printFigures(`Redis emptied at rest (seed ${seed})`, await runEmptiedAtRest(seed));
});

test('emptied under load: nothing less than SQL had is ever shown, nothing counts twice', async () => {
  printFigures(`Redis emptied under load (seed ${seed})`, await runEmptiedUnderLoad(10, seed));
});

test.run();

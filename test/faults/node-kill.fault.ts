/**
 * kill -9 of one of two nodes under load, 20 times, and one paused. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { runNodeKills, runNodePause } from './node-kill.ts';
import { seed } from './plans.ts';

const test = suite('kill -9 of a node, 20 times');

test('at 20 random moments nothing acknowledged is lost and nothing counts twice', async () => {
  printFigures(`kill -9 of one of two nodes (seed ${seed})`, await runNodeKills(20, seed));
});

test('one of two nodes stopped for 5 s and continued: nothing is lost or doubled', async () => {
  printFigures(`SIGSTOP of one of two nodes (seed ${seed})`, await runNodePause(5_000, seed));
});

test.run();

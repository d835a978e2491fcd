/**
 * kill -9 of Redis under the load of two nodes, 20 times, and everything Redis refuses with, three times
 * over. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { refusals, runDisturbances, runRedisFaults } from './redis-away.ts';

const test = suite('redis away, again and again');

test('Redis killed 20 times: nothing acknowledged is lost, nothing counts twice', async () => {
  printFigures(`kill -9 of Redis (seed ${seed})`, await runRedisFaults(seed, { kills: 20, refusals: [] }));
});

test('all kinds of refusal, three times: nothing was counted, and it goes on by itself', async () => {
  const all = [...refusals, ...refusals, ...refusals];
  printFigures(`words of Redis (seed ${seed})`, await runRedisFaults(seed, { kills: 0, refusals: all }));
});

test('stalled, torn, dripping and silent replies, three times: nothing is lost or counts twice', async () => {
  printFigures(`replies of Redis (seed ${seed})`, await runDisturbances(seed, 3));
});

test.run();

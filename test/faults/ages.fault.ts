/**
 * Shared stores of which one is older than the other, as after an operator's restore. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import { runOlderRedis, runOlderSql, runOlderSqlAsIs } from './ages.ts';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';

const test = suite('stores of two ages');

test('an older Redis: reflush refuses, the first node empties what is older, nothing is lost', async () => {
  printFigures(`an older Redis (seed ${seed})`, await runOlderRedis(seed));
});

test('an older Postgres: reflush writes all totals, and only vote rows are missing', async () => {
  printFigures(`an older Postgres, reflush (seed ${seed})`, await runOlderSql(seed));
});

test('an older Postgres as it is: each total comes with the next change of its entity', async () => {
  printFigures(`an older Postgres, as it is (seed ${seed})`, await runOlderSqlAsIs(seed));
});

test.run();

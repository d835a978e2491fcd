/**
 * One of two nodes cut off from Postgres only, six times. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { reset, runSqlCuts, vanish } from './sql-cut.ts';

const test = suite('one node without its SQL');

test('it counts, its votes reach SQL, and what is revoked or edited elsewhere is so here', async () => {
  const figures = await runSqlCuts(seed, [vanish, reset, vanish, reset, vanish, reset]);
  printFigures(`one of two nodes cut off from Postgres (seed ${seed})`, figures);
});

test.run();

/**
 * One of two nodes cut off from Postgres only, again and again. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { reset, runSqlCuts, vanish } from './postgres-cut-off.ts';

const test = suite('one node without its SQL');

faultCase(test, {
  title: 'it counts, its votes reach SQL, and what is revoked or edited elsewhere is so here',
  name: 'one of two nodes cut off from Postgres',
  run: ({ seed }) => runSqlCuts(seed, [vanish, reset]),
});

test.run();

/**
 * Shared stores where one is older than the other, as after an operator's restore. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { runOlderRedis, runOlderSql, runOlderSqlAsIs } from './servers-older.ts';

const test = suite('stores of two ages');

faultCase(test, {
  title: 'an older Redis: reflush refuses, the first node empties what is older, nothing is lost',
  name: 'an older Redis',
  run: ({ seed }) => runOlderRedis(seed),
});

faultCase(test, {
  title: 'an older Postgres: reflush writes all totals, and only vote rows are missing',
  name: 'an older Postgres, reflush',
  run: ({ seed }) => runOlderSql(seed),
});

faultCase(test, {
  title: 'an older Postgres as it is: each total comes with the next change of its entity',
  name: 'an older Postgres, as it is',
  run: ({ seed }) => runOlderSqlAsIs(seed),
});

test.run();

/**
 * Redis that loads for seconds, or lost its last second. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { runLoading } from './redis-loading.ts';
import { runTailLost } from './redis-tail-lost.ts';

const test = suite('redis started again');

faultCase(test, {
  title: 'while Redis loads nothing is counted, and it goes on by itself',
  name: 'Redis loading',
  run: ({ seed, count }) => runLoading(count, seed),
});

faultCase(test, {
  title: 'the last second of a Redis that syncs every second comes back from the nodes',
  name: 'Redis without its last second',
  counts: { faults: 4 },
  run: ({ seed, count }) => runTailLost(count, seed),
});

test.run();

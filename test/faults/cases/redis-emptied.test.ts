/**
 * Redis emptied under two nodes that know everything: never small numbers. Time limit: 600 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { runEmptiedAtRest, runEmptiedUnderLoad } from './redis-emptied.ts';

const test = suite('redis emptied');

faultCase(test, {
  title: 'at rest: all comes back from SQL under a new generation, and counting goes on from there',
  name: 'Redis emptied at rest',
  counts: { quick: 1, faults: 1 },
  run: ({ seed }) => runEmptiedAtRest(seed),
});

faultCase(test, {
  title: 'under load: nothing less than SQL had is ever shown, nothing counts twice',
  name: 'Redis emptied under load',
  counts: { faults: 4 },
  run: ({ seed, count }) => runEmptiedUnderLoad(seed, count),
});

test.run();

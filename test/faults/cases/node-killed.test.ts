/**
 * kill -9 of one of two nodes on shared stores under load, and SIGSTOP of one. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { runNodeKills, runNodePause } from './node-killed.ts';

const test = suite('kill -9 of a node');

faultCase(test, {
  title: 'one of two nodes killed under load: nothing is lost or doubled, the other goes on',
  name: 'kill -9 of one of two nodes',
  counts: { quick: 1, faults: 7 },
  run: ({ seed, count }) => runNodeKills(seed, count),
});

faultCase(test, {
  title: 'one of two nodes stopped for 5 s and continued: nothing is lost or doubled',
  name: 'SIGSTOP of one of two nodes',
  run: ({ seed }) => runNodePause(seed, 5_000),
});

test.run();

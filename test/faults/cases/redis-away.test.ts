/**
 * Redis killed, full, read-only, busy and locked under the load of two nodes, and its replies disturbed.
 * Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { runDisturbances, runKills, runRefusals } from './redis-away.ts';

const test = suite('redis away');

faultCase(test, {
  title: 'killed: nothing acknowledged is lost, nothing counts twice',
  name: 'kill -9 of Redis',
  counts: { quick: 1, faults: 7 },
  run: ({ seed, count }) => runKills(seed, count),
});

faultCase(test, {
  title: 'refusing with each of its errors: nothing was counted, and it goes on by itself',
  name: 'refusals of Redis',
  counts: { quick: 1, faults: 1 },
  run: ({ seed, count }) => runRefusals(seed, count),
});

faultCase(test, {
  title: 'stalled, cut off, dripping and silent replies: nothing is lost or counts twice',
  name: 'replies of Redis',
  run: ({ seed, count }) => runDisturbances(seed, count),
});

test.run();

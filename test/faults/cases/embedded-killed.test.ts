/**
 * kill -9 of the whole node at random moments: at work, while starting, while draining. Time limit: 1800 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';
import { runKills } from './embedded-killed.ts';

const test = suite('kill -9');
const folders = useTemplate(test);

faultCase(test, {
  title: 'at random moments nothing acknowledged is lost and nothing counts twice',
  name: 'kill -9',
  counts: { quick: 5, faults: 17 },
  run: ({ seed, count }) => runKills(folders.plan(seed), count),
});

test.run();

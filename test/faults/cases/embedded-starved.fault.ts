/**
 * A node with a blocked loop, without descriptors, without CPU, without memory. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';
import { runBlocked, runStarved, runWithoutFiles, runWithoutMemory } from './embedded-starved.ts';

const test = suite('a starved node');
const folders = useTemplate(test);

faultCase(test, {
  title: 'a loop blocked for 5 s loses nothing, and every request is answered',
  name: 'loop blocked for 5 s',
  run: ({ seed }) => runBlocked(folders.plan(seed), 5_000),
});

faultCase(test, {
  title: 'without descriptors connected clients are served, and the others once there are some',
  name: 'no descriptors',
  run: ({ seed }) => runWithoutFiles(folders.plan(seed)),
});

faultCase(test, {
  title: 'with hardly any CPU nothing fails',
  name: '8 busy processes',
  run: ({ seed }) => runStarved(folders.plan(seed), 8),
});

faultCase(test, {
  title: 'without memory it ends like kill -9, and nothing is lost',
  name: 'heap full',
  run: ({ seed }) => runWithoutMemory(folders.plan(seed)),
});

test.run();

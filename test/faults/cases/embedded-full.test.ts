/**
 * No room for the embedded stores: the hot store at its size limit, and the disk full. Time limit: 600 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';
import { runDiskFull, runStoreFull } from './embedded-full.ts';

const test = suite('no room');
const folders = useTemplate(test);

faultCase(test, {
  title: 'a full hot store refuses changes, goes on reading, and goes on when there is room',
  name: 'hot store full',
  counts: { quick: 1, faults: 1 },
  run: ({ seed }) => runStoreFull(folders.plan(seed)),
});

faultCase(test, {
  title: 'a full disk refuses changes, goes on reading, and goes on when there is room',
  name: 'disk full',
  run: ({ seed }) => runDiskFull(folders.plan(seed)),
});

test.run();

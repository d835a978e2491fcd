/**
 * A node dies of an edit, beside another node and alone. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';
import { points, pointsAlone, runEditsEmbedded, runEditsOnServers } from './edit-node-killed.ts';

const test = suite('edits whose node dies');
const folders = useTemplate(test);

faultCase(test, {
  title: 'beside another node: that one delivers the edit, and nothing is lost or doubled',
  name: "an edit's node dies",
  counts: { faults: 2 },
  run: ({ seed, count }) => runEditsOnServers(seed, Array.from({ length: count }, () => points).flat()),
});

faultCase(test, {
  title: 'alone: the next start delivers the edit, and nothing is lost or doubled',
  name: "an edit's node dies, embedded",
  run: ({ seed }) => runEditsEmbedded(folders.plan(seed), pointsAlone),
});

test.run();

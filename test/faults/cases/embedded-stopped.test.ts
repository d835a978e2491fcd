/**
 * A node on the embedded stores that drains, is paused, meets a second copy, or gets simultaneous votes of
 * one user. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import { countOf, faultCase } from '../harness/fault-case.ts';
import { addRuns } from '../harness/figures.ts';
import { useTemplate } from '../harness/plans.ts';
import { runSimultaneousVotes } from './embedded-simultaneous-votes.ts';
import { runDrain, runPause, runSecondCopy } from './embedded-stopped.ts';

const test = suite('a node under faults');
const folders = useTemplate(test);

faultCase(test, {
  title: 'of 1,000 simultaneous votes of one user exactly one is accepted',
  name: 'simultaneous votes',
  counts: { quick: 3, faults: 34 },
  run: ({ seed, count }) =>
    runSimultaneousVotes(folders.plan(seed), {
      rounds: count,
      votes: 1_000,
      connections: countOf({ quick: 500, faults: 1_000 }),
    }),
});

faultCase(test, {
  title: 'SIGTERM under load answers what is in flight and flushes',
  name: 'drain',
  counts: { quick: 1, faults: 4 },
  run: ({ seed, count }) =>
    addRuns(
      Array.from({ length: count }, (_, round) => round),
      (round) => runDrain(folders.plan(seed + round)),
    ),
});

faultCase(test, {
  title: 'a pause of five seconds loses nothing, and every request is answered',
  name: 'pause',
  run: ({ seed }) => runPause(folders.plan(seed), 5_000),
});

faultCase(test, {
  title: 'a second copy on the same folder or port says why, and the first goes on',
  name: 'second copy',
  counts: { quick: 1, faults: 1 },
  once: true,
  run: ({ seed }) => runSecondCopy(folders.plan(seed), folders.copy()),
});

test.run();

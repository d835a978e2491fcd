/**
 * Clocks that jump by an hour and by two days, each way: a node's, Redis', and that of a node alone with its
 * stores. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import { openShiftedClocks } from '../../support/shifted-clock.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';
import { runEmbeddedClock } from './embedded-clock-jumps.ts';
import { runClockJumps } from './servers-clock-jumps.ts';

const test = suite('clocks that jump');
const folders = useTemplate(test);
const clocks = openShiftedClocks();
test.after(() => clocks?.close());
const skipClock = (name: string) => skip(name, 'no compiler (gcc) to build a clock with');

for (const whose of ['node', 'redis'] as const) {
  const name = `clock of ${whose === 'node' ? 'a node' : 'Redis'}`;
  faultCase(test, {
    title: `the ${name} jumps: votes are refused, all else is counted, no wait changes`,
    name,
    run: async ({ seed }) => (clocks === null ? skipClock(name) : runClockJumps(clocks, whose, seed)),
  });
}

faultCase(test, {
  title: 'the clock of a node with its own stores jumps: nothing is refused, lost or counted twice',
  name: 'clock of a machine',
  once: true,
  run: async ({ seed }) =>
    clocks === null ? skipClock('clock of a machine') : runEmbeddedClock(clocks, folders.plan(seed)),
});

test.run();

/**
 * Clocks that jump by an hour and by two days, each way: a node's, Redis', and that of a node alone with its
 * stores. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { openShiftedClocks } from '../support/shifted-clock.ts';
import { offsets, runClockJumps } from './clocks.ts';
import { runEmbeddedClock } from './embedded-clock.ts';
import { printFigures } from './figures.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';

const test = suite('clocks that jump');
const clocks = openShiftedClocks();
test.after(() => clocks?.close());

const leftOut = (what: string): void =>
  console.log(`\nfigures: ${what} | left out: no compiler (gcc) to build a clock with`);

test('the clock of one of two nodes jumps', async () => {
  if (clocks === null) return leftOut('clock of a node');
  const figures = await runClockJumps(clocks, { whose: 'node', seed, offsetsMs: offsets });
  printFigures(`clock of a node (seed ${seed})`, figures);
});

test('the clock of Redis jumps', async () => {
  if (clocks === null) return leftOut('clock of Redis');
  const figures = await runClockJumps(clocks, { whose: 'redis', seed, offsetsMs: offsets });
  printFigures(`clock of Redis (seed ${seed})`, figures);
});

test('the clock of a node with its own stores jumps', async () => {
  if (clocks === null) return leftOut('clock of a machine');
  const template = await makeFaultTemplate();
  try {
    printFigures('clock of a machine', await runEmbeddedClock(clocks, planOn(template)));
  } finally {
    template.remove();
  }
});

test.run();

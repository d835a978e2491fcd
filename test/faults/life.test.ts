/**
 * A few of each of life.fault.ts; the pause is there alone, because it takes its time. Time limit: 300 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { printFigures } from './figures.ts';
import { runStoreFull } from './full.ts';
import { runDrain, runSecondCopy } from './life.ts';
import { makeFaultTemplate, planOn } from './plans.ts';
import { runRacesOnNode } from './race.ts';
import { runTorn } from './torn.ts';

const test = suite('a node under faults');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('of 1,000 simultaneous votes of one user exactly one is accepted', async () => {
  const counts = { rounds: 3, votes: 1_000, connections: 500 };
  printFigures('simultaneous votes', await runRacesOnNode(planOn(template), counts));
});

test('SIGTERM under load answers what is in flight and flushes', async () => {
  const { drainMs, restartMs, ...figures } = await runDrain(planOn(template));
  printFigures('drain', figures, { 'drain ms': drainMs, 'restart ms': restartMs });
});

test('a second copy on the same folder or port says why, and the first goes on', async () => {
  printFigures('second copy', await runSecondCopy(planOn(template), template.copy()));
});

test('a full hot store refuses changes, goes on reading, and goes on when there is room', async () => {
  printFigures('hot store full', await runStoreFull(planOn(template)));
});

test('a damaged SQL folder is replaced by its snapshot, with the totals of the hot store', async () => {
  printFigures('SQL folder damaged', await runTorn(planOn(template)));
});

test.run();

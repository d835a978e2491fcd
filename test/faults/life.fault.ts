/**
 * Races, drains, pauses, second copies, no room and damage, in full counts. Time limit: 2700 s.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { addFigures, noFigures, printFigures } from './figures.ts';
import { canMount, runDiskFull, runStoreFull } from './full.ts';
import { runDrain, runPause, runSecondCopy } from './life.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';
import { runRacesOnNode } from './race.ts';
import { runTorn } from './torn.ts';

const test = suite('faults of a node');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('of 1,000 simultaneous votes of one user exactly one is accepted, 100 times', async () => {
  const counts = { rounds: 100, votes: 1_000, connections: 1_000 };
  printFigures('simultaneous votes', await runRacesOnNode(planOn(template), counts));
});

test('SIGTERM under load answers what is in flight and flushes, ten times', async () => {
  let all = noFigures;
  const times = { drainMs: 0, restartMs: 0 };
  for (let round = 0; round < 10; round++) {
    const figures = await runDrain({ ...planOn(template), seed: seed + round });
    all = addFigures(all, figures);
    times.drainMs = Math.max(times.drainMs, figures.drainMs);
    times.restartMs = Math.max(times.restartMs, figures.restartMs);
  }
  printFigures(`drain (seed ${seed})`, all, { 'drain ms': times.drainMs, 'restart ms': times.restartMs });
});

test('a pause of five seconds loses nothing, and every request is answered', async () => {
  printFigures(`pause (seed ${seed})`, await runPause(planOn(template), 5_000));
});

test('a second copy on the same folder or port says why, and the first goes on', async () => {
  printFigures('second copy', await runSecondCopy(planOn(template), template.copy()));
});

test('a full hot store refuses changes, goes on reading, and goes on when there is room', async () => {
  printFigures('hot store full', await runStoreFull(planOn(template)));
});

test('a full disk refuses changes, goes on reading, and goes on when there is room', async () => {
  const disk = join(template.parent, 'disk');
  if (canMount(disk)) printFigures('disk full', await runDiskFull(planOn(template), disk));
  else console.log('\nfigures: disk full | left out: this system lets us mount no disk');
});

test('a damaged SQL folder is replaced by its snapshot, with the totals of the hot store', async () => {
  printFigures('SQL folder damaged', await runTorn(planOn(template)));
});

test.run();

/**
 * A node with a blocked loop, without descriptors, without CPU, without memory. Time limit: 600 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { printFigures } from './figures.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';
import { canLimit, runBlocked, runStarved, runWithoutFiles, runWithoutMemory } from './strain.ts';

const test = suite('a node under strain');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('a loop that stands still for 5 s loses nothing, and every request is answered', async () => {
  printFigures(`loop blocked for 5 s (seed ${seed})`, await runBlocked(planOn(template), 5_000));
});

test('without descriptors those who are in are served, and the others once there are some', async () => {
  if (!canLimit()) return console.log('\nfigures: no descriptors | left out: no prlimit on this system');
  printFigures(`no descriptors (seed ${seed})`, await runWithoutFiles(planOn(template)));
});

test('with hardly any CPU nothing fails', async () => {
  printFigures(`8 busy processes (seed ${seed})`, await runStarved(planOn(template), 8));
});

test('without memory it ends like kill -9, and nothing is lost', async () => {
  printFigures(`heap full (seed ${seed})`, await runWithoutMemory(planOn(template)));
});

test.run();

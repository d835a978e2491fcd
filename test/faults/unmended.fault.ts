/**
 * Starts that die while they mend a damaged SQL folder. Time limit: 900 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { addFigures, noFigures, printFigures } from './figures.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';
import { points, runUnmended } from './unmended.ts';

const test = suite('a start that dies while it mends');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('the next one rewrites all totals, wherever the first one died', async () => {
  let all = noFigures;
  for (const [index, point] of points.entries())
    all = addFigures(all, await runUnmended({ ...planOn(template), seed: seed + index }, point));
  printFigures(`SQL folder damaged, its mending killed (seed ${seed})`, all);
});

test.run();

/**
 * Folders of a data folder of which one is older than the other. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { runSwap, type Swap } from './ages-embedded.ts';
import { printFigures } from './figures.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';

const test = suite('folders of two ages');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

const swaps: readonly Swap[] = ['older hot', 'no hot', 'older sql', 'older sql, reflush'];
for (const swap of swaps) {
  test(`${swap}: nothing is lost but what that part alone had`, async () => {
    printFigures(`embedded, ${swap} (seed ${seed})`, await runSwap(planOn(template), swap));
  });
}

test.run();

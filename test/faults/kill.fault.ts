/**
 * kill -9 at 50 random moments. Time limit: 1800 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { printFigures } from './figures.ts';
import { runKills } from './kill.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';

const test = suite('kill -9, 50 times');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('at 50 random moments nothing acknowledged is lost and nothing counts twice', async () => {
  printFigures(`kill -9 (seed ${seed})`, await runKills({ ...planOn(template), kills: 50 }));
});

test.run();

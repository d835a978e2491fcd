/**
 * A few of the kills of kill.fault.ts: at work, while starting, while draining. Time limit: 300 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { printFigures } from './figures.ts';
import { runKills } from './kill.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';

const test = suite('kill -9');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('at five random moments nothing acknowledged is lost and nothing counts twice', async () => {
  printFigures(`kill -9 (seed ${seed})`, await runKills({ ...planOn(template), kills: 5 }));
});

test.run();

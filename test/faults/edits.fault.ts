/**
 * A node dies of an edit, ten times beside another node and three times alone. Time limit: 900 s.
 */
import { suite } from 'uvu';
import type { Template } from '../support/template.ts';
import { points, pointsAlone, runEditsEmbedded, runEditsOnServers } from './edits.ts';
import { printFigures } from './figures.ts';
import { makeFaultTemplate, planOn, seed } from './plans.ts';

const test = suite('edits whose node dies');

let template: Template;
test.before(async () => {
  template = await makeFaultTemplate();
});
test.after(() => template.remove());

test('beside another node: that one delivers the edit, and nothing is lost or doubled', async () => {
  const rounds = Array.from({ length: 5 }, () => points).flat();
  printFigures(`an edit's node dies (seed ${seed})`, await runEditsOnServers(seed, rounds));
});

test('alone: the next start delivers the edit, and nothing is lost or doubled', async () => {
  printFigures(
    `an edit's node dies, embedded (seed ${seed})`,
    await runEditsEmbedded(planOn(template), pointsAlone),
  );
});

test.run();

/**
 * kill -9 of one of two nodes under load; more of it in node-kill.fault.ts. Time limit: 120 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printFigures } from './figures.ts';
import { runNodeKills } from './node-kill.ts';
import { seed } from './plans.ts';

const test = suite('kill -9 of a node');

test('one of two nodes killed under load: nothing is lost or doubled, the other goes on', async () => {
  const figures = await runNodeKills(1, seed);

  printFigures(`kill -9 of one of two nodes (seed ${seed})`, figures);
  assert.ok(figures.acked > 150, `${figures.acked} acknowledged`);
});

test.run();

/**
 * Postgres stopped as by a crash, locked and slow, once each, under the load of two nodes. More of it in
 * postgres-away.fault.ts. Time limit: 120 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';
import { awayFor, locked, runPostgresFaults, slow, stopped } from './postgres-away.ts';

const test = suite('postgres away');

test('crashed, away, locked, slow: counting goes on, all is flushed after, nothing is lost', async () => {
  const figures = await runPostgresFaults({ seed }, [stopped, awayFor(500), locked, slow]);

  printFigures(`Postgres crashed, away, locked, slow (seed ${seed})`, figures);
  assert.ok(figures.acked > 300, `${figures.acked} acknowledged`);
});

test.run();

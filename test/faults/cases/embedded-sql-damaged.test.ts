/**
 * A damaged SQL folder, and starts that die while they repair it. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { addRuns } from '../harness/figures.ts';
import { useTemplate } from '../harness/plans.ts';
import { points, runRepairKilled } from './embedded-repair-killed.ts';
import { runSqlDamaged } from './embedded-sql-damaged.ts';

const test = suite('a damaged SQL folder');
const folders = useTemplate(test);

faultCase(test, {
  title: 'a damaged SQL folder is replaced by its snapshot, with the totals of the hot store',
  name: 'SQL folder damaged',
  counts: { quick: 1, faults: 1 },
  run: ({ seed }) => runSqlDamaged(folders.plan(seed)),
});

faultCase(test, {
  title: 'a start killed during the repair: the next one rewrites all totals, whatever the moment',
  name: 'SQL folder damaged, its repair killed',
  counts: { faults: points.length },
  run: ({ seed }) => addRuns(points, (point) => runRepairKilled(folders.plan(seed), point)),
});

test.run();

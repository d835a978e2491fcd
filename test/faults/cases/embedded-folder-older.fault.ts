/**
 * Folders of a data folder of which one is older than the other. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';
import { runSwap, type Swap } from './embedded-folder-older.ts';

const test = suite('folders of two ages');
const folders = useTemplate(test);

const swaps: readonly Swap[] = ['older hot', 'no hot', 'older sql', 'older sql, reflush'];
for (const swap of swaps) {
  faultCase(test, {
    title: `${swap}: nothing is lost but what that part alone had`,
    name: `embedded, ${swap}`,
    run: ({ seed }) => runSwap(folders.plan(seed), swap),
  });
}

test.run();

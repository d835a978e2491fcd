/**
 * Every named crash point, on both sides. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import { type CrashFolders, prepareFolders, runCrash } from './crash.ts';
import { crashPoints } from './crash-points.ts';
import { addFigures, noFigures, printFigures } from './figures.ts';
import { seed } from './plans.ts';

const test = suite('crash points');

let folders: CrashFolders;
test.before(async () => {
  folders = await prepareFolders();
});
test.after(() => folders.remove());

test('a crash at any point, before or after, loses nothing and counts nothing twice', async () => {
  let all = noFigures;
  for (const [index, point] of crashPoints.entries())
    all = addFigures(all, await runCrash(folders, point, seed + index));
  printFigures(`crash points (seed ${seed})`, all);
});

test.run();

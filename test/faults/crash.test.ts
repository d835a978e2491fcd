/**
 * A few of the crash points of crash.fault.ts, and that their list is complete. Time limit: 300 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CrashFolders, prepareFolders, runCrash, verbsOfPorts } from './crash.ts';
import { crashPoints, hotVerbs, ledgerVerbs } from './crash-points.ts';
import { printFigures } from './figures.ts';
import { seed } from './plans.ts';

const test = suite('crash points, a few');
const few = ['after-hot.markFlushed', 'after-hot.commit.adjust'];

let folders: CrashFolders;
test.before(async () => {
  folders = await prepareFolders();
});
test.after(() => folders.remove());

test('the list of points knows every verb of both ports', async () => {
  const { hot, ledger } = await verbsOfPorts(folders);

  assert.equal(hot, Object.keys(hotVerbs).sort());
  assert.equal(ledger, Object.keys(ledgerVerbs).sort());
});

for (const point of crashPoints.filter(({ name }) => few.includes(name))) {
  test(`a crash ${point.name.replace('-', ' ')} loses nothing and counts nothing twice`, async () => {
    printFigures(`crash ${point.name} (seed ${seed})`, await runCrash(folders, point, seed));
  });
}

test.run();

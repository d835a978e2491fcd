/**
 * The node dies at every named crash point, before and after each call of a store; a few of them in the quick
 * lane. And the list of points is complete. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { crashPoints, hotVerbs, ledgerVerbs } from '../harness/crash-points.ts';
import { countOf, faultCase } from '../harness/fault-case.ts';
import { addRuns } from '../harness/figures.ts';
import { type CrashFolders, prepareFolders, runCrash, verbsOfPorts } from './embedded-crash-points.ts';

const test = suite('crash points');
const few = ['after-hot.markFlushed', 'after-hot.commit.adjust'];
const all = countOf({ quick: few.length, faults: crashPoints.length }) === crashPoints.length;
const chosen = crashPoints.filter(({ name }) => all || few.includes(name));

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

faultCase(test, {
  title: 'a crash at any point, before or after, loses nothing and counts nothing twice',
  name: 'crash points',
  counts: { quick: chosen.length, faults: chosen.length },
  // Minutes for all points: one round of them, each with a seed of its own.
  once: true,
  run: ({ seed }) =>
    addRuns([...chosen.entries()], ([index, point]) => runCrash(folders, point, seed + index)),
});

test.run();

/**
 * A SQL folder that is torn soon after a first start or an import is replaced by the snapshot of that time.
 * Without a snapshot the start reports what is lost, what is left and what to do, and changes nothing.
 */
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { damage } from '../faults/cases/embedded-sql-damaged.ts';
import { makeFolder } from '../support/folder.ts';
import { postServers, readServers, spawnNode, startNode } from '../support/node-process.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('a torn folder');
const root = makeFolder('rollcall-torn-');
const dataDir = join(root, 'data');
test.before(() => makeBareFolder(dataDir));

const startDemoNode = () => startNode({ dataDir, settings: { DEMO: 'on' } });
/** Has no deadline of its own: the limit of the test runner applies. */
const waitForSnapshot = async (): Promise<void> => {
  const isThere = () => globSync('*/manifest.json', { cwd: join(dataDir, 'snapshots') }).length > 0;
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
};
/** Starts a node, expects it to fail, and resolves to its output. */
const startRefused = async (): Promise<string> => {
  const node = spawnNode({ dataDir, settings: { DEMO: 'on' } });
  assert.is((await node.exited).code, 1);
  return node.output();
};

test('a node torn minutes after its first start is repaired from the snapshot of that start', async () => {
  const first = await startDemoNode();
  await waitForSnapshot();
  assert.is(await postServers(first.url, dataDir, 4_242), 200);
  await first.kill();
  damage(dataDir);

  const next = await startDemoNode();
  const servers = await readServers(next.url, dataDir);
  await next.stop();

  assert.match(next.output(), /could not be used .* The snapshot .* was put in its place/);
  assert.is(servers, 4_242);
});

test('without a snapshot the start reports what is lost, what is left, and what to do', async () => {
  rmSync(join(dataDir, 'snapshots'), { recursive: true });
  damage(dataDir);

  for (const sqlThere of [true, false]) {
    if (!sqlThere) rmSync(join(dataDir, 'sql'), { recursive: true });
    const output = await startRefused();

    assert.match(output, /Lost, unless a backup has them, are listings, users, edits/);
    assert.match(output, `counters (totals of stats, clicks and votes) are still in ${join(dataDir, 'hot')}`);
    assert.match(output, /With a backup: restore it .*reflush.* Without one: import the directory/);
    assert.not.match(output, 'never seen');
    assert.is(existsSync(join(dataDir, 'sql')), sqlThere, 'no new database beside counters it does not fit');
    assert.not(existsSync(join(dataDir, 'snapshots')));
  }
});

test('a copy from before the directory existed is not used in its place', async () => {
  await makeBareFolder(dataDir);
  writeFileSync(join(dataDir, 'sql.state.json'), JSON.stringify({ open: true, boot: '', older: true }));

  const output = await startRefused();

  assert.match(output, 'a copy from before the directory was there');
  assert.match(output, 'the counters (totals of stats, clicks and votes) are still in the hot store');
});

test.run();

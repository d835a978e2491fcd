/**
 * An embedded SQL folder that does not open or is gone: the start reports what is lost, what is left and what
 * to do, and changes nothing; with a backup these steps lose nothing that was counted.
 */
import { cpSync, existsSync, globSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importFileOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, spawnNode, startNode } from '../support/node-process.ts';
import { runOps } from '../support/ops-process.ts';
import { count, directory, shown } from './cli/counting.ts';

const test = suite('a damaged SQL folder');
const root = makeFolder('rollcall-torn-');
const dataDir = join(root, 'data');
const database = join(dataDir, 'postgres');
const backup = join(root, 'backup');
const nodes: StartedNode[] = [];
const begin = async (folder: string): Promise<StartedNode> => {
  const node = await startNode({ dataDir: folder });
  nodes.push(node);
  return node;
};
test.after(async () => {
  for (const node of nodes) await node.kill();
});

/** Cuts the control file and the largest tables short. */
const damage = (): void => {
  const tables = globSync('base/5/*', { cwd: database }).slice(0, 10);
  for (const path of ['global/pg_control', ...tables]) truncateSync(join(database, path), 100);
};
/** Starts a node, expects it to fail, and resolves to its output. */
const startRefused = async (): Promise<string> => {
  const node = spawnNode({ dataDir });
  assert.is((await node.exited).code, 1);
  return node.output();
};
let before = '';

test('the start reports what is lost, what is left, and what to do', async () => {
  const file = join(root, 'directory.jsonl');
  writeFileSync(file, importFileOf(directory));
  assert.is((await runOps(dataDir, ['import', file])).code, 0);
  assert.is((await runOps(dataDir, ['backup', backup])).code, 0);
  const node = await begin(dataDir);
  await count(node.url, 0, '12345678901234567890');
  before = await shown(node.url);
  await node.kill();
  damage();

  for (const isThere of [true, false]) {
    if (!isThere) rmSync(database, { recursive: true });
    const output = await startRefused();

    assert.match(output, /Lost, unless a backup has them, are listings, users, edits/);
    assert.match(output, `counters (totals of stats, clicks and votes) are still in ${join(dataDir, 'hot')}`);
    assert.match(output, /With a backup: restore it .*reflush.* Without one: import the directory/);
    assert.not.match(output, 'never seen');
    assert.is(existsSync(database), isThere, 'no new database beside counters it does not fit');
  }
});

test('with a backup, the counters of the lost folder go on', async () => {
  const restored = join(root, 'restored');
  assert.is((await runOps(restored, ['restore', backup])).code, 0);
  renameSync(join(restored, 'hot'), join(root, 'older'));
  cpSync(join(dataDir, 'hot'), join(restored, 'hot'), { recursive: true });
  assert.is((await runOps(restored, ['reflush'])).code, 0);
  const next = await begin(restored);
  const after = await shown(next.url);
  await next.stop();

  assert.is(after, before);
});

test.run();

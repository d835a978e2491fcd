/**
 * A SQL folder torn soon after an import, and one lost with all its snapshots while there is a backup: what
 * was counted is there afterwards, by the steps that the refused start names.
 */
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { count, directory, shown } from '../../ops/cli/counting.ts';
import { importFileOf } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, spawnNode, startNode } from '../../support/node-process.ts';
import { runOps } from '../../support/ops-process.ts';
import { damage } from './embedded-sql-damaged.ts';

const test = suite('torn early');
const root = makeFolder('rollcall-torn-early-');
const dataDir = join(root, 'data');
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

test('a folder torn after an import is healed from the snapshot of that import', async () => {
  const file = join(root, 'directory.jsonl');
  writeFileSync(file, importFileOf(directory));
  assert.is((await runOps(dataDir, ['import', file])).code, 0);
  const node = await begin(dataDir);
  await count(node.url, 0, '12345678901234567890');
  const before = await shown(node.url);
  await node.kill();
  damage(dataDir);

  const next = await begin(dataDir);
  const after = await shown(next.url);
  await next.stop();

  assert.match(next.output(), /The snapshot .* was put in its place/);
  assert.is(after, before);
});

test('with a backup, the counters of the lost folder go on', async () => {
  assert.is((await runOps(dataDir, ['backup', backup])).code, 0);
  const node = await begin(dataDir);
  await count(node.url, 1, '12345678901234567891');
  const before = await shown(node.url);
  await node.kill();
  for (const name of ['sql', 'snapshots']) rmSync(join(dataDir, name), { recursive: true });
  const refused = spawnNode({ dataDir });
  assert.is((await refused.exited).code, 1);
  assert.match(
    refused.output(),
    /With a backup: restore it into a new DATA_DIR, replace its folder "hot" by the one named above/,
  );

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

/**
 * With a umask that forbids nothing, all files of a node and of the operator's commands are for one user.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { postServers, spawnNode } from '../support/node-process.ts';
import { runOps } from '../support/ops-process.ts';

const test = suite('umask');
const place = makeFolder('rollcall-umask-');
const toPath = (name: string): string => join(place, name);
const before = process.umask(0);
test.after(() => {
  process.umask(before);
});

/** Everything below the folder that others may read or write, with its mode. */
const listOpen = (): readonly string[] =>
  readdirSync(place, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
    const status = statSync(toPath(path));
    const mode = (status.mode & 0o777).toString(8);
    return mode === (status.isDirectory() ? '700' : '600') ? [] : [`${mode} ${path}`];
  });

test('the data folder, exports, backups and what a restore and an import write', async () => {
  const dataDir = toPath('data');
  const node = spawnNode({ dataDir, settings: { DEMO: 'on' } });
  try {
    const { url, adminUrl } = await node.ready;
    const run = async (folder: string, ...words: readonly string[]): Promise<void> => {
      const settings = { ADMIN_PORT: new URL(adminUrl).port };
      const { code, output } = await runOps(toPath(folder), words, { settings });
      assert.is(code, 0, output);
    };
    assert.is(await postServers(url, dataDir, 5), 200);
    await run('data', 'backup', toPath('backup'));
    await run('data', 'export', toPath('export.jsonl'));
    assert.equal(listOpen(), [], 'while the node runs');
    await node.stop();
    await run('restored', 'restore', toPath('backup'));
    await run('imported', 'import', toPath('export.jsonl'));
  } finally {
    await node.kill();
  }

  assert.equal(listOpen(), []);
});

test.run();

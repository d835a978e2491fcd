/**
 * Runs the commands of the runbook's pages about abuse against a node with the demo directory, in the order
 * of the text: each ends well. Ids and tokens of the text become those of the demo.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DemoFile } from '../../ops/demo/demo.ts';
import { makeFolder } from '../support/folder.ts';
import { readDemo, type StartedNode, startNode } from '../support/node-process.ts';

const test = suite('runbook');
const root = join(import.meta.dirname, '../..');
const folder = makeFolder('rollcall-runbook-');
let node: StartedNode;
let demo: DemoFile;
test.before(async () => {
  node = await startNode({ dataDir: folder, settings: { DEMO: 'on' } });
  demo = readDemo(folder);
});
test.after(async () => {
  await node.stop();
});

/** `rollcall` as a program; the text's own port is replaced by the node's address. */
const program = [process.execPath, ...process.execArgv, 'ops/cli/main.ts'].join(' ');
const prelude = `set -e; rollcall() { shift; ${program} "$@"; }`;

const runInShell = async (script: string): Promise<string> => {
  const env = {
    PATH: process.env.PATH ?? '',
    DATA_DIR: folder,
    ADMIN_PORT: new URL(node.adminUrl).port,
  };
  const { stdout } = await promisify(execFile)('bash', ['-c', `${prelude}\n${script}`], { cwd: root, env });
  return stdout;
};

const readBlocks = (page: string): readonly string[] =>
  [
    ...readFileSync(join(root, `docs/runbook/${page}.md`), 'utf8').matchAll(
      /^```sh run: test\/docs\/runbook\.stores\.test\.ts\n([\s\S]*?)^```$/gm,
    ),
  ].map(([, block = '']) => block);

/** The page that deletes the bot is the last. */
for (const page of ['votes-look-bought', 'token-leaked', 'operator-token-leaked', 'spam-listings'])
  test(`docs/runbook/${page}.md: each command ends well`, async () => {
    const issued = await runInShell(`rollcall ops tokens issue bot ${demo.bot.id} --name leaked --json`);
    const { session_id, token } = JSON.parse(issued) as { session_id: string; token: string };
    const blocks = readBlocks(page);
    assert.ok(blocks.length > 0);
    for (const block of blocks) {
      const script = block
        .replaceAll('rc_bot_815553000470478850_…', token)
        .replaceAll('815553000470478850', demo.bot.id)
        .replaceAll('728871946456137770', demo.second_user.id)
        .replaceAll('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a16', session_id)
        .replaceAll('http://127.0.0.1:8080', node.url);
      const printed = await runInShell(script);
      assert.is.not(printed, '', block);
      if (block.includes('auth/test')) assert.match(printed, '"authorized":true');
    }
  });

test.run();

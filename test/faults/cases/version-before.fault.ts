/**
 * The version before the journal, from the project's own history: its folder opens in this version and goes
 * on, and it meets a folder of this version with its own sentence, changing nothing. Needs git and the
 * history; a shallow clone skips it. Time limit: 300 s.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listFolder } from '../../../storage/embedded/copy.ts';
import { watchChild } from '../../support/child.ts';
import { directoryOf, importFileOf, tokenOf } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { quiet, spawnNode, startNode } from '../../support/node-process.ts';
import { until } from '../../support/until.ts';
import { unpackVersionBefore } from '../harness/earlier-version.ts';
import { skip } from '../harness/fault-case.ts';

const test = suite('the version before');
const folder = makeFolder('rollcall-before-');
const before = join(folder, 'version');

const sizes = { users: 3, bots: 2, servers: 1, teams: 1, packs: 1 };
const [bot = '', user = ''] = [directoryOf(sizes).bots[0], directoryOf(sizes).users[1]];
const dataDir = join(folder, 'data');
const oldMain = join(before, 'ops/main.ts');

const vote = async (url: string): Promise<number> => {
  const headers = { 'User-Auth': tokenOf('user', user) };
  return (await fetch(`${url}/users/${user}/bots/${bot}/votes?upvote=true`, { method: 'PUT', headers }))
    .status;
};
const click = (url: string, clicks: number): Promise<void> =>
  fetch(`${url}/bots/${bot}?target=page`).then(() =>
    until(`${clicks} clicks, one unique`, async () => {
      const shown = JSON.parse(await (await fetch(`${url}/bots/${bot}`)).text());
      return shown.clicks === clicks && shown.unique_clicks === 1;
    }),
  );

/** Names and digests of all files, but locks. */
const digestFolder = (): readonly string[] =>
  listFolder(dataDir)
    .files.filter((file) => !/(^|\/)lock/.test(file))
    .map(
      (file) =>
        `${file} ${createHash('sha256')
          .update(readFileSync(join(dataDir, file)))
          .digest('hex')}`,
    )
    .sort();

test('its folder goes on here; back there it is refused by its format, and unchanged', async () => {
  if (!unpackVersionBefore('storage/hot/lmdb/journal.ts', before))
    return void skip('the version before', 'no git history with the version before');
  const file = join(folder, 'directory.jsonl');
  writeFileSync(file, importFileOf(directoryOf(sizes)));
  const env = { ...process.env, ...quiet, DATA_DIR: dataDir };
  const args = [...process.execArgv, join(before, 'ops/cli/main.ts'), 'import', file];
  const imported = await watchChild(spawn(process.execPath, args, { env, cwd: before })).ended;
  assert.is(imported.code, 0, imported.err);
  const old = await startNode({ dataDir, program: oldMain });
  assert.is(await vote(old.url), 204);
  await click(old.url, 1);
  await old.kill();

  const node = await startNode({ dataDir });
  assert.is(await vote(node.url), 429);
  await click(node.url, 2);
  await node.stop();

  const files = digestFolder();
  const back = spawnNode({ dataDir, program: oldMain });
  assert.is((await back.exited).code, 1, back.output());
  assert.match(back.output(), /holds format 6, this version reads formats 1 to 4/);
  assert.equal(digestFolder(), files);

  const again = await startNode({ dataDir });
  assert.is(await vote(again.url), 429);
  await click(again.url, 3);
  await again.stop();
});

/** The last version that takes zeros behind the last record for half of one. */
test('the version before zeros reads a journal with them, and this one goes on', async () => {
  const program = join(folder, 'before-zeros');
  if (!unpackVersionBefore('storage/hot/lmdb/journal-zeros.ts', program))
    return void skip('the version before zeros', 'no git history with the version before');
  const oldProgram = join(program, 'ops/main.ts');
  const node = await startNode({ dataDir });
  await click(node.url, 4);
  await node.kill();
  const old = await startNode({ dataDir, program: oldProgram });
  await click(old.url, 5);
  await old.kill();
  const again = await startNode({ dataDir });
  await click(again.url, 6);
  await again.stop();
});

test.run();

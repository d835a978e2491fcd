/**
 * A host that gives too little: the start names the cause, and calls nothing lost that is not.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeFlags } from '../../ops/setup/launch.mjs';
import { findMemoryNotes } from '../../ops/watch/memory.ts';
import { makeFolder } from '../support/folder.ts';
import { mainProgram, spawnNode } from '../support/node-process.ts';

const test = suite('limits of the host');
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = makeFolder('rollcall-limits-');
const program = `'${join(root, 'ops/bin/rollcall')}' start`;
const stripped = join(root, 'ops/setup/stripped.mjs');
const withoutCheck = `'${process.execPath}' ${nodeFlags.join(' ')} --import '${stripped}' '${mainProgram}'`;
const gibibytes = (count: number): number => count * 1_048_576;

for (const [title, command, expected, isTouched] of [
  [
    'address space',
    `ulimit -v ${gibibytes(16)}; exec ${program}`,
    /^The address space is limited to 16\.0 GiB/,
    false,
  ],
  ['less', `ulimit -v ${gibibytes(4)}; exec ${program}`, /^The address space is limited to 4\.0 GiB/, false],
  ['descriptors', `ulimit -n 256; exec ${program}`, /need a limit of 400 open files/, true],
  [
    'temporary folder',
    `TMPDIR=/missing exec ${program}`,
    /^The temporary folder \/missing cannot be used/,
    true,
  ],
  [
    'working directory',
    `cd "$(mktemp -d)"; rmdir "$PWD"; exec ${program}`,
    /^The working directory is gone/m,
    false,
  ],
  ['memory', `ulimit -v ${gibibytes(12)}; exec ${withoutCheck}`, /It got no memory\. Nothing is lost/, true],
] as const) {
  test(`${title}: the cause is named, and nothing called lost`, async () => {
    const dataDir = join(folder, title);
    const node = spawnNode({ dataDir, through: ['sh', '-c', command] });

    assert.is((await node.exited).code, 1);
    assert.match(node.output(), expected);
    assert.not.match(node.output(), /Lost/);
    assert.is(existsSync(dataDir), isTouched);
  });
}

test('umask 0777 is not in the way', async () => {
  const through = ['sh', '-c', `umask 0777; exec ${program}`];
  const node = spawnNode({ dataDir: join(folder, 'umask'), through });
  await node.ready;

  assert.is((await node.stop()).code, 0);
});

test('a memory limit below what a node needs is noted', () => {
  assert.match(findMemoryNotes(200 * 2 ** 20)[0] ?? '', 'limited to 200 MiB here, and a node needs 256 MiB');
  for (const enough of [0, 256 * 2 ** 20, 2 ** 64]) assert.equal(findMemoryNotes(enough), []);
});

test.run();

/**
 * What becomes of a command whose standard output takes no more: its reader has left, or the disk is full.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fillDisk, onSmallDisk } from '../../faults/harness/small-disk.ts';
import { watchChild } from '../../support/child.ts';

const test = suite('output of commands');
const program = fileURLToPath(new URL('../../../ops/cli/main.ts', import.meta.url));
const command = [...process.execArgv, program, 'help'];

const rollcall = fileURLToPath(new URL('../../../ops/bin/rollcall', import.meta.url));
for (const args of [['ops', 'help'], ['version'], ['check']])
  test(`${args.join(' ')}: a reader that has left is no failure`, async () => {
    const child = spawn(rollcall, args);
    child.stdout.destroy();
    const { code, err } = await watchChild(child).ended;

    assert.equal([code, err], [0, '']);
  });

const fullName = 'output that does not fit on the disk is a failure, also when a part of it fits';
test(fullName, async () => {
  const result = await onSmallDisk(fullName, 64 * 1024, async (disk) => {
    const path = join(disk, 'out');
    writeFileSync(path, Buffer.alloc(3_000));
    fillDisk(disk);
    const out = openSync(path, 'a');
    const child = spawn(process.execPath, command, { stdio: ['ignore', out, 'pipe'] });
    const { code, err } = await watchChild(child).ended;
    closeSync(out);
    return { code, err, length: statSync(path).size };
  });
  if (result === null) return;

  assert.is(result.code, 1);
  assert.ok(result.length > 3_000, 'a part was written');
  assert.match(result.err, /^ENOSPC: .*\. Make room where it writes: /);
});

test.run();

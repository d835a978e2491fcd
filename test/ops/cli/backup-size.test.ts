/**
 * The size of an unfinished backup is read while another process, or this one, renames or removes it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { measureDraft } from '../../../ops/cli/backup.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('size of an unfinished backup');
const folder = makeFolder('rollcall-size-');

const measuredMs = 500;

test('a folder that vanishes while it is measured has no size', async () => {
  const draft = join(folder, 'monday.unfinished');
  const script = 'while :; do mkdir "$0"; for n in 1 2 3 4 5 6; do echo x > "$0/$n"; done; rm -r "$0"; done';
  const other = spawn('sh', ['-c', script, draft], { stdio: 'ignore' });
  try {
    const endMs = performance.now() + measuredMs;
    const sizes = new Set<number | null>();
    while (performance.now() < endMs) sizes.add(measureDraft(draft));

    assert.ok(sizes.has(null));
    assert.ok([...sizes].every((bytes) => bytes === null || (bytes >= 0 && bytes <= 12)));
  } finally {
    other.kill('SIGKILL');
    await once(other, 'close');
  }
});

test.run();

/**
 * What a failure leaves open: nothing.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { receiveCopy } from '../../storage/backup/live.ts';
import { syncFiles } from '../../storage/embedded/background-syncs.ts';
import { openUndoable, type Stores } from '../../storage/open.ts';
import { makeFolder } from '../support/folder.ts';

const test = suite('left open');

const readRefusal = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no failure',
    (error: Error) => error.message,
  );
const listDescriptors = (): readonly string[] => readdirSync('/proc/self/fd');

test('when a store cannot be closed, the ones below it are, and it is reported', async () => {
  const closed: string[] = [];
  const stores = await openUndoable(async (undo) => {
    undo.push((isClean) => void closed.push(`lock, all closed: ${isClean}`));
    undo.push(() => Promise.reject(new Error('stuck')));
    undo.push((isClean) => void closed.push(`sql, all closed: ${isClean}`));
    return {} as Stores;
  });

  assert.is(await readRefusal(stores.close()), 'stuck');
  assert.equal(closed, ['sql, all closed: true', 'lock, all closed: false']);
});

test('when an opening fails, its own failure is reported, not that of a store that it closes', async () => {
  const opening = openUndoable((undo) => {
    undo.push(() => Promise.reject(new Error('stuck')));
    return Promise.reject(new Error('no such database'));
  });

  assert.is(await readRefusal(opening), 'no such database');
});

test('a copy that breaks off leaves no file open', async () => {
  const sql = { folders: [''], files: [{ path: 'x', bytes: 10, crc: 0 }] };
  const input = Readable.from([Buffer.from(`${JSON.stringify({ sql })}\n`), Buffer.from('half')]);
  const before = listDescriptors();

  const refusal = await readRefusal(receiveCopy(input, makeFolder('rollcall-broken-copy-'), () => {}));

  assert.match(refusal, /ended before the copy was complete/);
  assert.equal(listDescriptors(), before);
});

test('a file that cannot be synced is closed', async () => {
  const pipe = join(makeFolder('rollcall-no-sync-'), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const before = listDescriptors();

  assert.match(await readRefusal(syncFiles([pipe])), /EINVAL/);

  assert.equal(listDescriptors(), before);
});

test.run();

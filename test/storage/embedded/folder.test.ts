/**
 * The data folder: created with its parents, or refused with a clear message and no leftovers.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findForbiddenStore, makeDataFolder } from '../../../storage/embedded/folder.ts';
import { openStores } from '../../../storage/open.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('data folder');
const place = makeFolder('rollcall-folder-');

test('a missing folder is created with its parents, private to its owner, and then reused', () => {
  const folder = join(place, 'a', 'b');

  makeDataFolder(folder);
  makeDataFolder(folder);

  assert.is(statSync(folder).mode & 0o777, 0o700);
});

test('a link to a folder works like the folder', () => {
  symlinkSync(place, join(place, 'link'));

  makeDataFolder(join(place, 'link', 'c'));

  assert.ok(existsSync(join(place, 'c')));
});

writeFileSync(join(place, 'file'), '');
symlinkSync(join(place, 'nowhere'), join(place, 'unmounted'));
for (const [title, folder, words] of [
  ['a file', join(place, 'file'), /cannot be used: a part of the path is a file \(ENOTDIR\).*DATA_DIR/],
  ['below a file', join(place, 'file', 'data'), /a part of the path is a file/],
  ['a link to nowhere', join(place, 'unmounted'), /a link to nowhere \(a disk that is not mounted\?\)/],
  ['below a link to nowhere', join(place, 'unmounted', 'data'), /a link to nowhere/],
  ['below a folder that holds none', '/proc/rollcall', /the folder above it cannot hold it/],
] as const) {
  test(`${title} is refused at once, with a clear message`, () => {
    if (title === 'below a folder that holds none' && !existsSync('/proc/self')) return;
    assert.throws(() => makeDataFolder(folder), words);
    assert.is(findForbiddenStore(folder), null, 'no store is of another user');
    assert.not.ok(existsSync(join(place, 'nowhere')));
  });
}

test('without a temporary folder nothing is called lost', async () => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = join(place, 'no-temporary');
  const config = { dataDir: join(place, 'healthy'), redisUrl: [], databaseUrl: '' };
  const opening = openStores(config, { clock: Date.now, onWarning: () => {} });
  const failure = await opening.catch((error: Error) => error.message);
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;

  assert.match(
    String(failure),
    /^The temporary folder .*no-temporary cannot be used \(ENOENT\): .* Set TMPDIR to .*\.$/,
  );
});

test('a database of another user is not called lost', () => {
  const folder = join(place, 'foreign');
  mkdirSync(join(folder, 'postgres'), { recursive: true });
  chmodSync(join(folder, 'postgres'), 0);
  const child = fileURLToPath(new URL('./forbidden-child.ts', import.meta.url));

  const args = [...process.execArgv, child, join(place, 'rehearsal'), folder];
  const { output } = spawnSync(process.execPath, args, { encoding: 'utf8' });

  assert.match(
    output.join(''),
    /^The data folder .*may not read and write .*postgres\. Nothing is lost.*chown -R/,
  );
});

test.run();

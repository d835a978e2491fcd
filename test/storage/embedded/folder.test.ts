/**
 * The data folder: created with its parents, or refused with a clear message and no leftovers.
 */
import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDataFolder } from '../../../storage/embedded/folder.ts';
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
    assert.not.ok(existsSync(join(place, 'nowhere')));
  });
}

test.run();

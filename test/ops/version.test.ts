/**
 * The version that `rollcall version`, the start message, `/livez` and the metrics show: read from
 * package.json and from a real repository.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatVersion, readVersion } from '../../ops/version.ts';

const test = suite('version');

let root = '';
test.before.each(() => {
  root = mkdtempSync(join(tmpdir(), 'version-'));
  mkdirSync(join(root, 'project'));
  writeFileSync(join(root, 'project/package.json'), '{"version": "1.2.3"}');
});
test.after.each(() => rmSync(root, { recursive: true, force: true }));

const git = (...args: string[]): string => {
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.org'];
  const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], {
    cwd: join(root, 'project'),
    encoding: 'utf8',
  });
  assert.is(status, 0, stderr);
  return stdout.trim();
};
const commit = (): string => {
  git('init', '--quiet', '--initial-branch=main');
  git('add', '.');
  git('commit', '--quiet', '--message=first');
  return git('rev-parse', 'HEAD').slice(0, 12);
};
const project = (): string => join(root, 'project');

test('without a repository the commit is unknown, and the text has only the version', () => {
  const version = readVersion(project());

  assert.equal(version, { version: '1.2.3', commit: 'unknown' });
  assert.is(formatVersion(version), '1.2.3');
});

test('in a repository it is the checked-out commit, also with packed references and without a branch', () => {
  const expected = { version: '1.2.3', commit: commit() };
  assert.equal(readVersion(project()), expected);

  git('pack-refs', '--all');
  assert.equal(readVersion(project()), expected);

  git('checkout', '--quiet', '--detach');
  assert.equal(readVersion(project()), expected);
  assert.is(formatVersion(expected), `1.2.3 (${expected.commit})`);
});

test('in a linked worktree it is the commit of that worktree', () => {
  const expected = commit();
  git('worktree', 'add', '--quiet', '../linked');

  assert.is(readVersion(join(root, 'linked')).commit, expected);
});

test('a folder without a repository inside one has no commit', () => {
  commit();
  mkdirSync(join(project(), 'inner'));
  writeFileSync(join(project(), 'inner/package.json'), '{"version": "4.5.6"}');

  assert.equal(readVersion(join(project(), 'inner')), { version: '4.5.6', commit: 'unknown' });
});

test('a repository of another user has its commit, too', () => {
  const expected = commit();
  if (process.getuid?.() === 0)
    for (const path of ['', '.git']) chownSync(join(project(), path), 65_534, 65_534);

  assert.is(readVersion(project()).commit, expected);
});

test('the file COMMIT of an image comes first, and anything but a commit in it is unknown', () => {
  commit();
  writeFileSync(join(project(), 'COMMIT'), `${'ab12'.repeat(10)}\n`);
  assert.is(readVersion(project()).commit, 'ab12ab12ab12');

  writeFileSync(join(project(), 'COMMIT'), 'HEAD\n');
  assert.is(readVersion(project()).commit, 'unknown');
});

test.run();

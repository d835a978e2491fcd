/**
 * Rolling restarts of three nodes behind the shipped HAProxy under load, and from the previous commit's
 * version to this one (F30).
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printLine } from '../nodes/fleet.ts';
import { type RollingFigures, rollOver } from './rolling.ts';

const test = suite('rolling restarts');
const project = join(import.meta.dirname, '../..');
const stopMsLimit = 5_000;

const judge = (title: string, { requests, failures, wrong, restarts, stopMsMax }: RollingFigures): void => {
  const counts = `restarts ${restarts} | requests ${requests} | failed ${failures.length}`;
  printLine(`${title} | ${counts} | wrong ${wrong.length} | stop ms ${stopMsMax}`);
  assert.equal(failures, []);
  assert.equal(wrong, []);
  assert.ok(stopMsMax < stopMsLimit, `a stop took ${stopMsMax} ms`);
};

test('three nodes restarted four times each: no request fails, each stop takes 5 s at most', async () => {
  judge('rolling restart of 3 nodes', await rollOver({ nodes: 3, rounds: 4, leaveMs: 1_000 }));
});

test('from the previous commit’s version to this one: no request fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-previous-'));
  const tree = join(folder, 'tree');
  const git = (...words: string[]) => execFileSync('git', ['-C', project, ...words], { stdio: 'pipe' });
  git('worktree', 'add', '--detach', tree, 'HEAD~1');
  try {
    symlinkSync(join(project, 'node_modules'), join(tree, 'node_modules'));
    const from = join(tree, 'ops/main.ts');
    judge('from the previous commit', await rollOver({ nodes: 3, rounds: 1, leaveMs: 1_000, from }));
  } finally {
    git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true, force: true });
  }
});

test.run();

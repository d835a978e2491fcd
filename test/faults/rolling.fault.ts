/**
 * Rolling restarts of three nodes behind the shipped HAProxy under load, from an earlier version to this one,
 * and to a version with a later schema and back (F30). FROM_COMMIT names the earlier version; default: the
 * previous commit.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { printLine } from '../nodes/fleet.ts';
import { mainProgram } from '../support/node-process.ts';
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

/** Gives the main program of another version: this project's tree at a commit, changed. */
const withVersion = async (
  commit: string,
  change: (tree: string) => void,
  use: (program: string) => Promise<void>,
): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-version-'));
  const tree = join(folder, 'tree');
  const git = (...words: string[]) => execFileSync('git', ['-C', project, ...words], { stdio: 'pipe' });
  git('worktree', 'add', '--detach', tree, commit);
  try {
    symlinkSync(join(project, 'node_modules'), join(tree, 'node_modules'));
    change(tree);
    await use(join(tree, 'ops/main.ts'));
  } finally {
    git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true, force: true });
  }
};

const earlierCommit = process.env.FROM_COMMIT ?? 'HEAD~1';

test('from an earlier version to this one: no request fails', () =>
  withVersion(
    earlierCommit,
    () => {},
    async (from) => {
      judge(`from ${earlierCommit}`, await rollOver({ nodes: 3, rounds: 1, leaveMs: 1_000, from }));
    },
  ));

/** What a later release may do to the schema while nodes of this one are at work. */
const expansion = `
alter table totals add column later bigint;
alter table votes add column later text default 'later';
create table later (number bigint primary key);
create index totals_later on totals (later);
`;

test('to a version that expands the schema, and back again: no request fails', () =>
  withVersion(
    'HEAD',
    (tree) => writeFileSync(join(tree, 'storage/sql/migrations/999.do.later.sql'), expansion),
    async (later) => {
      const programs = [later, mainProgram];
      judge('with a later schema', await rollOver({ nodes: 3, rounds: 2, leaveMs: 1_000, programs }));
    },
  ));

test.run();

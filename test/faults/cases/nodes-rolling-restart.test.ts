/**
 * Rolling restarts of nodes behind the shipped HAProxy under load (F30); in the fault lane also from the
 * previous commit's version to this one, and to a version with a later schema and back. Time limit: 900 s.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mainProgram } from '../../support/node-process.ts';
import { countOf, faultCase } from '../harness/fault-case.ts';
import { type RollingPlan, rollOver } from './nodes-rolling-restart.ts';

const test = suite('rolling restart');
const project = join(import.meta.dirname, '../../..');
const stopMsLimit = 5_000;

const run = async (plan: RollingPlan) => {
  const { failures, wrong, requests, restarts, stopMsMax } = await rollOver(plan);
  assert.equal(failures, []);
  assert.equal(wrong, []);
  assert.ok(requests > 100, `${requests} requests`);
  return { requests, failed: failures.length, wrong: wrong.length, restarts, stopMsMax };
};

faultCase(test, {
  title: 'nodes restarted one after another under load: no request fails, nothing is lost',
  name: 'rolling restart',
  counts: { quick: 1, faults: 4 },
  once: true,
  run: async ({ count }) => {
    // Longer than the default in the quick lane: a busy machine may keep HAProxy from looking for a while.
    const leaveMs = countOf({ quick: 4_000, faults: 1_000 });
    const figures = await run({ nodes: count === 1 ? 2 : 3, rounds: count, leaveMs });
    assert.ok(count === 1 || figures.stopMsMax < stopMsLimit, `a stop took ${figures.stopMsMax} ms`);
    return figures;
  },
});

/** Gives the main program of another version: this project's tree at a commit, changed. */
const withVersion = async <Result>(
  commit: string,
  change: (tree: string) => void,
  use: (program: string) => Promise<Result>,
): Promise<Result> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-version-'));
  const tree = join(folder, 'tree');
  const git = (...args: string[]) => execFileSync('git', ['-C', project, ...args], { stdio: 'pipe' });
  git('worktree', 'add', '--detach', tree, commit);
  try {
    symlinkSync(join(project, 'node_modules'), join(tree, 'node_modules'));
    change(tree);
    return await use(join(tree, 'ops/main.ts'));
  } finally {
    git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true, force: true });
  }
};

faultCase(test, {
  title: 'from the previous commit’s version to this one: no request fails',
  name: 'rolling restart from the previous commit',
  once: true,
  run: () =>
    withVersion(
      'HEAD~1',
      () => {},
      (from) => run({ nodes: 3, rounds: 1, leaveMs: 1_000, from }),
    ),
});

/** What a later release may do to the schema while nodes of this one are at work. */
const expansion = `
alter table totals add column later bigint;
alter table votes add column later text default 'later';
create table later (number bigint primary key);
create index totals_later on totals (later);
`;

faultCase(test, {
  title: 'to a version that expands the schema, and back again: no request fails',
  name: 'rolling restart with a later schema',
  once: true,
  run: () =>
    withVersion(
      'HEAD',
      (tree) => writeFileSync(join(tree, 'storage/sql/migrations/999.do.later.sql'), expansion),
      (later) => run({ nodes: 3, rounds: 2, leaveMs: 1_000, programs: [later, mainProgram] }),
    ),
});

test.run();

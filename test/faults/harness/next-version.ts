/**
 * A made-up next version of this program, for tests that run both at once: it expands the schema, and writes
 * what this version does not know.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';

const project = join(import.meta.dirname, '../../..');

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

/** What the next release may do to the schema while nodes of this one are at work. */
const expansion = `
alter table totals add column later bigint;
alter table votes add column later text default 'later';
create table later (number bigint primary key);
create index totals_later on totals (later);
`;
/** What it may add to what nodes write for each other: items, fields of sessions' copies and heartbeats. */
const additions = [
  // Another kind of item in the outbox, one beside each vote; and how many there were.
  [
    'storage/hot/redis/functions/3-votes.lua',
    '  for number = 0, count - 1 do\n    local last = #outbox\n',
    "  call('INCR', work.stem .. 'later')\n" +
      "  outbox[#outbox + 1], outbox[#outbox + 2] = '0', 'later\\0' .. items[at] .. '\\0\\255'\n" +
      '  for number = 0, count - 1 do\n    local last = #outbox\n',
  ],
  ['storage/nodes/session-copies.ts', 'JSON.stringify(written)', 'JSON.stringify({ ...written, later: 1 })'],
  [
    'ops/cluster-context.ts',
    '=> readNodeFacts(stores, node);',
    '=> ({ ...readNodeFacts(stores, node), later: 1 });',
  ],
] as const;

/** Makes a tree of this version one of a made-up next version. */
const makeNext = (tree: string): void => {
  writeFileSync(join(tree, 'storage/sql/migrations/002.do.later.sql'), expansion);
  for (const [file, now, next] of additions) {
    const text = readFileSync(join(tree, file), 'utf8');
    assert.is(text.split(now).length, 2, `${file} has ${now} once`);
    writeFileSync(join(tree, file), text.replace(now, next));
  }
};

/** Gives the main program of the next version. */
export const withNextVersion = <Result>(use: (program: string) => Promise<Result>): Promise<Result> =>
  withVersion('HEAD', makeNext, use);

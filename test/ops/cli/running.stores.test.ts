/**
 * The commands on embedded stores that a running node uses: they work through the node, and the node goes on
 * serving, with what was imported. The commands run as the real program.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runRestore } from '../../../ops/cli/restore.ts';
import { bot, linesOf, platformId, user, vote } from '../../storage/import/store.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { makeDataFolder } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { runOps } from '../../support/ops-process.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { count, directory, run as runCommand, shown, sizes, vote as voteAs } from './counting.ts';

const test = suite('commands on a running node');
const folder = makeFolder('rollcall-running-');
const dataDir = join(folder, 'data');
let node: StartedNode;
test.before(async () => {
  await makeDataFolder(dataDir, sizes);
  // It does not flush: a backup needs what only the hot store has.
  node = await startNode({ dataDir, settings: { FLUSH_INTERVAL_MS: '60000' } });
});
test.after(async () => void (await node.stop()));

const ops = (args: readonly string[], input = '', port = new URL(node.adminUrl).port) =>
  runOps(dataDir, args, { input, cwd: folder, settings: { ADMIN_PORT: port } });

test('inspect shows what the node has counted and not flushed', async () => {
  await count(node.url, 0, '18446744073709551557');
  const { code, out, err } = await ops(['inspect', 'bot', directory.bots[0] ?? '', '--json']);
  const { totals, hot } = JSON.parse(out);

  assert.equal([code, err], [0, '']);
  assert.equal([totals.servers, hot.servers], ['0', '18446744073709551557']);
});

test('a backup of a running node restores exactly what clients saw', async () => {
  const before = await shown(node.url);
  const { code, out, err } = await ops(['backup', join(folder, 'backup')]);
  const restored = join(folder, 'restored');
  const restore = await runCommand(runRestore, { DATA_DIR: restored }, join(folder, 'backup'));
  const copy = await startNode({ dataDir: restored });
  const seen = await shown(copy.url);
  const votes = [await voteAs(copy.url, 0), await voteAs(copy.url, 1)];
  await copy.stop();

  assert.is(code, 0, err);
  assert.match(out, /^The backup is in .*backup: \d+\.\d MB in \d/);
  assert.equal([restore.code, restore.err], [0, '']);
  assert.is(seen, before);
  assert.equal(votes, [429, 204], 'a voter still waits, others can vote');
  assert.not.ok(existsSync(join(dataDir, 'copy.unfinished')));
});

test('export writes the directory as of one moment; it never overwrites silently', async () => {
  const file = join(folder, 'out.jsonl');
  const first = await ops(['export', file]);
  const again = await ops(['export', file]);
  const replaced = await ops(['export', file, '--yes', '--json']);
  const streamed = await ops(['export', '-']);

  assert.is(first.code, 0, first.err);
  assert.is(again.code, 2);
  assert.match(again.err, /out\.jsonl exists already.*\nNothing was done/);
  assert.is(replaced.code, 0, replaced.err);
  const { lines } = JSON.parse(replaced.out);
  assert.is(readFileSync(file, 'utf8').split('\n').length - 1, lines);
  // Counters and votes may be flushed between the two.
  const listUsers = (text: string) => text.split('\n').filter((line) => line.startsWith('{"kind":"user"'));
  assert.equal(listUsers(streamed.out), listUsers(readFileSync(file, 'utf8')));
  assert.is(listUsers(streamed.out).length, sizes.users);
});

test('import through the node: its lists and pages have what was imported', async () => {
  const id = platformId(905);
  const before = await fetch(`${node.url}/bots/${id}`);
  const lines = linesOf(user(1), bot(905, { upvotes: 3, type: 'approved' }), vote(905, 2)).join('\n');
  const { code, out, err } = await ops(['import', '-'], lines);
  const page = await fetch(`${node.url}/bots/${id}`);
  const list = (await (await fetch(`${node.url}/bots/@all`)).json()) as { count: number };
  const again = await ops(['import', '-', '--json'], lines);

  assert.equal([before.status, code, err], [404, 0, '']);
  assert.match(out, /\nadded: 1 user, 1 bot, 1 vote\n/);
  assert.is(page.status, 200);
  assert.is(((await page.json()) as { votes: number }).votes, 3);
  assert.is(list.count, sizes.bots + 1);
  assert.equal([again.code, JSON.parse(again.out).skipped > 0], [0, true]);
  const audited = await ops(['audit', 'list', '--json']);
  assert.match(audited.out, /"operation": "stores import"/);
});

test('many lines arrive in order through the node, from a compressed file', async () => {
  const file = join(folder, 'many.jsonl.gz');
  const users = Array.from({ length: 1_000 }, (_, index) => user(2_000 + index));
  writeFileSync(file, gzipSync(`# users\n${linesOf(...users).join('\n')}\n`));
  const { code, out, err } = await ops(['import', file]);

  assert.equal([code, err], [0, '']);
  assert.match(out, /^1 001 lines in .*\nadded: 1 000 users\n$/);
});

test('a bad line stops the import with its number; --skip-bad writes it to a file and goes on', async () => {
  const file = join(folder, 'bad.jsonl');
  const users = linesOf(...Array.from({ length: 800 }, (_, index) => user(5_000 + index)));
  writeFileSync(file, [...users.slice(0, 700), 'nonsense', ...users.slice(700)].join('\n'));
  const stopped = await ops(['import', file]);
  const audited = await ops(['audit', 'list', '--json']);
  const skipped = await ops(['import', file, '--skip-bad']);
  const [entry] = JSON.parse(audited.out).entries;

  assert.equal(
    [entry.operation, entry.details, entry.outcome],
    ['stores import', { file: file.replaceAll('/', ' ').trim() }, 'stopped'],
  );
  assert.is(stopped.code, 1);
  assert.match(stopped.err, /a bad line; the import has stopped\.\n {2}line 701: not valid JSON/);
  const done = Number(/Lines up to (\d+) are in the store/.exec(stopped.err)?.[1]);
  assert.ok(done > 0 && done <= 700, stopped.err);
  assert.is(skipped.code, 0, skipped.err);
  const rest = `added: ${800 - done} users\nalready there: ${done}\nrejected: 1, see `;
  assertIncludes(skipped.out, rest);
  assert.match(readFileSync(`${file}.rejected`, 'utf8'), /^# line 701: not valid JSON.*\nnonsense\n/);
});

test('through the node, too, a code goes to the line that asks for it, in another request', async () => {
  const users = Array.from({ length: 300 }, (_, index) => user(7_000 + index));
  const lines = linesOf(
    ...[user(1), bot(910, { user: { username: 'Owls' }, type: 'approved' }), ...users],
    bot(911, { vanity: 'owls', type: 'approved' }),
  );
  const { code, err } = await ops(['import', '-'], lines.join('\n'));
  const read = async (id: number) => (await fetch(`${node.url}/bots/${platformId(id)}`)).json();
  const [first, second] = [await read(910), await read(911)] as { vanity: string }[];

  assert.equal([code, err], [0, '']);
  assert.equal([first?.vanity, second?.vanity], ['owls-0910', 'owls']);
});

test('a dry run of an import finds what the import would, and writes nothing', async () => {
  const missing = linesOf(user(8_888), bot(8_889, { owner: '77' })).join('\n');
  const { code, out } = await ops(['import', '-', '--dry-run'], `${missing}\nnonsense\n`);
  const found = await ops(['users', 'list', '--search', platformId(8_888), '--json']);

  assert.is(code, 1);
  assert.match(
    out,
    /^3 lines, to add: 1 user\nbad lines: 2\n {2}line 2: there is no user 77 .*\n {2}line 3: not/,
  );
  assert.is(JSON.parse(found.out).total, 0);
});

test('without a node at the address nothing is done, and the message names both', async () => {
  const { code, out, err } = await ops(['export', '-'], '', '1');

  assert.equal([code, out], [1, '']);
  assert.match(err, new RegExp(`is in use by process ${node.pid}`));
  assert.match(err, /did not find a node to work through: No node answers at .*:1 /);
});

test('a node of another folder is not mistaken for this one', async () => {
  const otherDir = join(folder, 'other');
  await makeSqlFolder(join(otherDir, 'postgres'));
  const settings = { ADMIN_TOKEN: readFileSync(join(dataDir, 'operator-token'), 'utf8').trim() };
  const other = await startNode({ dataDir: otherDir, settings });
  const { code, err } = await ops(['import', '-'], linesOf(user(9_999)).join(), new URL(other.adminUrl).port);
  await other.stop();

  assert.is(code, 1);
  assert.match(err, /does not use .*data\. Set DATA_DIR, or ADMIN_HOST and ADMIN_PORT/);
});

test('status needs no second word', async () => {
  const { code, out } = await ops(['status']);

  assert.is(code, 0);
  assert.match(out, /^ready +yes\n.*\nnodes \(1\)\nnode +version /s);
});

test('nothing is left behind in the data folder', () => {
  assert.not.ok(readdirSync(dataDir).some((name) => name.includes('unfinished')));
});

test.run();

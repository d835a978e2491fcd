/**
 * The program `ops/bin/rollcall`, in a project of a few files: it finds its folder through links, keeps the
 * caller's folder, arguments, process and exit code, and neither installs nor writes anything.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../support/assert-includes.ts';

const test = suite('program');
const source = join(import.meta.dirname, '../..');
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rollcall-program-')));
const root = join(folder, 'a project');
const elsewhere = join(folder, 'elsewhere');

test.before.each(() => {
  for (const part of ['ops/bin', 'ops/setup', 'package.json']) {
    cpSync(join(source, part), join(root, part), { recursive: true });
  }
  mkdirSync(join(root, 'ops/cli'));
  const script = `const args: string[] = process.argv.slice(2);
    console.log(JSON.stringify([import.meta.filename, process.cwd(), process.pid, args]));
    process.exitCode = 7;`;
  for (const path of ['ops/main.ts', 'ops/cli/main.ts']) writeFileSync(join(root, path), script);
  mkdirSync(join(root, 'node_modules/.rollcall'), { recursive: true });
  mkdirSync(join(root, 'node_modules/.bin'));
  writeFileSync(join(root, 'node_modules/.rollcall/installed'), '');
  symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'));
  mkdirSync(elsewhere);
});
test.after.each(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], program = join(root, 'ops/bin/rollcall'), settings = {}) => {
  const { pid, status, stdout, stderr } = spawnSync(program, args, {
    cwd: elsewhere,
    encoding: 'utf8',
    // No Node in the PATH: an installation has its own.
    env: { PATH: '/usr/bin:/bin', ...settings },
  });
  return { pid, status, stdout, stderr };
};

test('commands run in the caller’s folder and process, with their arguments and exit code', () => {
  const start = run(['start']);
  const ops = run(['ops', 'users', 'ban', '1 2', '--json']);
  const accepting = run(['start', '--accept-clock']);

  assert.equal(JSON.parse(start.stdout), [join(root, 'ops/main.ts'), elsewhere, start.pid, []]);
  assert.equal(JSON.parse(ops.stdout).slice(3), [['users', 'ban', '1 2', '--json']]);
  assert.equal(JSON.parse(accepting.stdout)[3], ['--accept-clock']);
  assert.is(start.status, 7);
  assert.is(start.stderr, '');
});

test('it works through links, absolute and relative', () => {
  symlinkSync(join(root, 'ops/bin/rollcall'), join(folder, 'one'));
  symlinkSync('../one', join(elsewhere, 'two'));

  const { stdout } = run(['start'], join(elsewhere, 'two'));

  assert.is(JSON.parse(stdout)[0], join(root, 'ops/main.ts'));
});

test('it works beside an exported CDPATH, with which cd prints a folder', () => {
  symlinkSync(root, join(elsewhere, 'project'));

  const { stdout, stderr } = run(['start'], 'project/ops/bin/rollcall', { CDPATH: elsewhere });

  assert.is(stderr, '');
  assert.is(JSON.parse(stdout)[0], join(root, 'ops/main.ts'));
});

test('it writes nothing', () => {
  const list = (): readonly string[] => globSync('**/{*,.*}', { cwd: folder }).sort();
  const before = list();
  run(['start']);
  run(['ops', 'help']);
  run(['help']);

  assert.equal(list(), before);
});

test('without an installation it says what to do, and does not install', () => {
  rmSync(join(root, 'node_modules'), { recursive: true });
  const { status, stderr } = run(['start']);

  assert.is(status, 1);
  assert.is(
    stderr,
    `Rollcall is not installed in ${root}. As its owner, run there: npm install --omit=dev\n`,
  );
});

for (const [title, args, status, text] of [
  ['help is printed', ['help'], 0, /^Usage: rollcall COMMAND/],
  ['no command prints the help', [], 2, /^Usage: rollcall COMMAND/],
  ['an unknown command is refused', ['strat'], 2, /^There is no command "strat"\. See: rollcall help\n$/],
  ['start takes no arguments', ['start', '--port=1'], 2, /^"rollcall start" takes no arguments: settings/],
] as const) {
  test(`${title}, with exit code ${status}`, () => {
    const result = run(args);

    assert.is(result.status, status);
    assert.match(status === 0 ? result.stdout : result.stderr, text);
    assert.is(status === 0 ? result.stderr : result.stdout, '');
  });
}

test('check prints a summary of valid settings without secrets, and opens nothing', () => {
  const before = readdirSync(elsewhere);
  const { status, stdout, stderr } = run(['check'], join(source, 'ops/bin/rollcall'), {
    PORT: '8123',
    REDIS_URL: 'redis://:secret@one:6379',
    DATABASE_URL: 'postgres://me:secret@two/db',
    ADMIN_TOKN: 'x',
  });

  assert.is(status, 0);
  assert.match(stdout, /^The settings are valid; no store was opened\.\n {2}Public +http:\S+:8123\n/);
  assert.match(stdout, /Redis +redis:\/\/one:6379\n {2}Postgres +postgres:\/\/two\/db\n/);
  assert.not.match(stdout, /secret/);
  assert.is(stderr, 'ADMIN_TOKN is not a setting. Did you mean ADMIN_TOKEN?\n');
  assert.equal(readdirSync(elsewhere), before);
});

test('check prints all mistakes at once, with exit code 1', () => {
  const settings = { PORT: 'x', UPTIME_FRESH_MINUTES: '3', ADMIN_TOKEN: 'short' };
  const { status, stdout, stderr } = run(['check'], join(source, 'ops/bin/rollcall'), settings);

  assert.is(status, 1);
  assert.is(stdout, '');
  assert.match(stderr, /^3 settings are wrong:\n/);
  for (const name of Object.keys(settings)) assertIncludes(stderr, name, name);
});

test('version prints the version of package.json and the pinned Node', () => {
  const { version, dependencies } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  const { status, stdout } = run(['version'], join(source, 'ops/bin/rollcall'));

  assert.is(run(['--version'], join(source, 'ops/bin/rollcall')).stdout, stdout);
  assert.is(status, 0);
  assert.match(
    stdout,
    new RegExp(`^rollcall ${version}( \\([0-9a-f]{12}\\))?, Node v${dependencies.node}\n$`),
  );
});

test.run();

/**
 * The set-up, on a project of two files with a fake npm: several starts install once, an interrupted
 * installation begins again, signals and exit codes pass through, and a failure has a clear message.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findPortFault } from '../../http/server/listen-fault.ts';
import { buildEnvironment, busyNodeFlags, nodeFlags } from '../../ops/setup/launch.mjs';
import { assertIncludes } from '../support/assert-includes.ts';
import { type Ended, watchChild } from '../support/child.ts';
import { makeFolder } from '../support/folder.ts';
import { listen } from '../support/loopback.ts';

const test = suite('setup');
const setup = fileURLToPath(new URL('../../ops/setup', import.meta.url));

let root = '';
test.before.each(() => {
  settings = {};
  root = makeFolder('setup-');
  cpSync(setup, join(root, 'ops/setup'), { recursive: true });
  const lockFile = 'storage/embedded/lock-file.mjs';
  cpSync(join(setup, '../..', lockFile), join(root, lockFile));
  mkdirSync(join(root, 'bin'));
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({ type: 'module', dependencies: { node: process.versions.node } }),
  );
  writeFileSync(
    join(root, 'script.ts'),
    `const args: string[] = process.argv.slice(2); console.log('script', ...args); process.exitCode = 7;`,
  );
  fakeNpm('');
});
test.after.each(() => rmSync(root, { recursive: true, force: true }));

/**
 * Writes an npm that logs each run, runs `first`, installs a Node as the real one does, runs `last`, and ends
 * with the `postinstall` script. That script may run npm on the installed Node, which runs `again`.
 */
const fakeNpm = (first: string, { last = '', again = '' } = {}): void => {
  const lines = [
    '#!/bin/sh',
    'echo "run $*" >> runs',
    first,
    'mkdir -p node_modules/.bin node_modules/left-pad',
    `ln -sf ${process.execPath} node_modules/.bin/node`,
    last,
    'case "$*" in *--omit=dev*) export npm_config_omit=dev ;; esac',
    `npm_execpath=${join(root, 'bin/npm-cli.cjs')} exec node ops/setup/finish.mjs`,
  ];
  writeFileSync(
    join(root, 'bin/npm-cli.cjs'),
    `require('node:fs').appendFileSync('runs', 'again ' + process.argv.slice(2).join(' ') + '\\n');
    ${again}`,
  );
  writeFileSync(join(root, 'bin/npm'), lines.join('\n'));
  chmodSync(join(root, 'bin/npm'), 0o755);
};
let settings: Record<string, string> = {};
const start = (...args: string[]): ChildProcess =>
  spawn(process.execPath, ['ops/setup/run.mjs', ...args], {
    cwd: root,
    env: { PATH: `${join(root, 'bin')}:${dirname(process.execPath)}:/usr/bin:/bin`, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
const waitForEnd = async (child: ChildProcess): Promise<Pick<Ended, 'code' | 'output'>> => {
  const { code, output } = await watchChild(child).ended;
  return { code, output };
};
const run = (...args: string[]) => waitForEnd(start(...args));
const listRuns = (): readonly string[] =>
  existsSync(join(root, 'runs')) ? readFileSync(join(root, 'runs'), 'utf8').trim().split('\n') : [];
const countInstallations = (): number => listRuns().filter((line) => line.startsWith('run ')).length;
const writeScript = (path: string): void => {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), `console.log('script ${path}')`);
};
const waitForFile = async (path: string): Promise<void> => {
  while (!existsSync(join(root, path))) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('the first start installs, the second does not; arguments and exit code pass through', async () => {
  const first = await run('script.ts', 'a', '--b');
  const second = await run('script.ts');

  assert.match(first.output, /Installing the libraries[\s\S]*script a --b/);
  assert.equal(second, { code: 7, output: 'script\n' });
  assert.is(first.code, 7);
  assert.is(countInstallations(), 1);
});

test('a changed dependency installs again', async () => {
  await run('script.ts');
  const dependencies = { node: process.versions.node, more: '1.0.0' };
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  await run('script.ts');

  assert.is(countInstallations(), 2);
});

test('an installation prepares a database, and does without where that fails', async () => {
  writeScript('storage/embedded/pglite-create-main.ts');
  const program = join(root, 'storage/embedded/pglite-create-main.ts');
  writeFileSync(
    program,
    `import { writeFileSync } from 'node:fs'; writeFileSync('prepared-in', process.argv[3]);`,
  );
  await run('script.ts');
  assert.match(readFileSync(join(root, 'prepared-in'), 'utf8'), /node_modules\/\.rollcall\/prepared$/);

  rmSync(join(root, 'node_modules'), { recursive: true });
  writeFileSync(program, 'process.exit(3);');
  const { code } = await run('script.ts');
  assert.is(code, 7);
  assert.match(
    readFileSync(join(root, 'node_modules/.rollcall/install.log'), 'utf8'),
    /No database was prepared/,
  );
});

test('two starts at once install once', async () => {
  fakeNpm('sleep 0.5');
  const [one, other] = await Promise.all([run('script.ts', 'one'), run('script.ts', 'other')]);

  assert.match(one.output, /script one/);
  assert.match(other.output, /script other/);
  assert.match(one.output + other.output, /Waiting for it to finish/);
  assert.is(countInstallations(), 1);
});

test('an installation that was killed begins again from nothing', async () => {
  fakeNpm('mkdir -p node_modules/half; sleep 60');
  const interrupted = start('script.ts');
  const end = waitForEnd(interrupted);
  await waitForFile('node_modules/half');
  interrupted.kill('SIGTERM');
  assert.is((await end).code, 130);

  fakeNpm('');
  const again = await run('script.ts');

  assert.is(again.code, 7);
  assert.not.ok(existsSync(join(root, 'node_modules/half')));
});

for (const [title, first, expected] of [
  [
    'an unreachable registry',
    'echo npm error code ECONNREFUSED; exit 1',
    /could not be reached[\s\S]*HTTPS_PROXY/,
  ],
  ['a full disk', 'echo npm error ENOSPC; exit 1', /disk is full/],
  ['an unknown failure', 'echo some reason; exit 1', /some reason[\s\S]*The whole output of npm is in/],
  ['an npm that runs no scripts', 'exit 0', /npm ran no scripts/],
] as const) {
  test(`${title} ends the start with a message that says what to do`, async () => {
    fakeNpm(first);
    const { code, output } = await run('script.ts');

    assert.is(code, 1);
    assert.match(output, expected);
    assert.not.match(output, /at .*\.mjs/);
  });
}

/** Makes the project depend on a native package. */
const needNative = (): void => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  manifest.dependencies.lmdb = '1.0.0';
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
};

test('a Node of another version ends the start', async () => {
  const other = `rm node_modules/.bin/node && printf '#!/bin/sh\\necho v16.0.0' > node_modules/.bin/node`;
  fakeNpm('', { last: `${other} && chmod 755 node_modules/.bin/node` });

  assert.match((await run('script.ts')).output, /the installed Node is v16.0.0, expected v22/);
});

test('a native package that does not load ends the start, and the next one begins from nothing', async () => {
  needNative();
  fakeNpm('test -e node_modules/lmdb || mkdir -p node_modules/lmdb node_modules/stale');

  const { code, output } = await run('script.ts');
  assert.is(code, 1);
  assert.match(output, /a native package does not load: Error: Cannot find module/);

  fakeNpm('mkdir -p node_modules/lmdb && echo "module.exports = 1" > node_modules/lmdb/index.js');
  assert.is((await run('script.ts')).code, 7);
  assert.not(existsSync(join(root, 'node_modules/stale')));
});

test('native parts of another Node are installed again by the npm on the pinned Node', async () => {
  needNative();
  fakeNpm('', {
    again: `const { mkdirSync, writeFileSync } = require('node:fs');
    mkdirSync('node_modules/lmdb');
    writeFileSync('node_modules/lmdb/index.js', '');
    if (process.env.npm_config_omit !== 'dev') throw new Error('the options of the first npm apply');`,
  });
  writeScript('ops/sample.ts');

  assert.is((await run('ops/sample.ts')).code, 0);
  assert.match(listRuns()[1] ?? '', /^again install --no-save .*--ignore-scripts/);
});

test('the package of the client installs the compiler that it needs', async () => {
  writeScript('ops/cli/client.ts');
  writeScript('ops/sample.ts');
  await run('ops/sample.ts');
  await run('ops/cli/client.ts');

  assert.equal(
    listRuns().map((line) => line.includes('--omit=dev')),
    [true, false],
  );
});

test('a script of the server installs no tools, others do, and the tools then stay', async () => {
  writeScript('ops/sample.ts');
  await run('ops/sample.ts');
  await run('script.ts');
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, devDependencies: { more: '1' } }));
  await run('ops/sample.ts');

  assert.equal(
    listRuns().map((line) => line.includes('--omit=dev')),
    [true, false, false],
  );
});

test('taken ports end the start before an installation, and the message names the settings', async () => {
  const taken = createServer();
  const port = await listen(taken);
  for (const setting of ['PORT', 'ADMIN_PORT']) {
    settings = { PORT: '0', ADMIN_PORT: '0', [setting]: String(port) };
    const { code, output } = await run('ops/main.ts');
    const fault = await findPortFault({ host: '127.0.0.1', port, setting });

    assert.equal([code, output], [1, `${fault?.message}\n`], 'the words of a node that is installed');
  }
  settings = { PORT: String(port), ADMIN_PORT: String(port) };
  assert.match((await run('ops/main.ts')).output, / another PORT\.\n.* another ADMIN_PORT\.\n$/);
  taken.close();

  assert.equal(listRuns(), []);
});

test('a signal reaches the script, and its exit code reaches the caller', async () => {
  appendFileSync(
    join(root, 'script.ts'),
    `process.on('SIGTERM', () => { console.log('drained'); process.exit(3); });
    setInterval(() => {}, 1e6);
    console.log('ready');`,
  );
  const child = start('script.ts');
  const end = waitForEnd(child);
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => chunk.includes('ready') && resolve());
  });
  child.kill('SIGTERM');

  const { code, output } = await end;
  assert.is(code, 3);
  assert.match(output, /drained/);
});

/** Runs the real npm on this project. Its script ends when its launcher disconnects. */
const startThroughNpm = async (command: string, ...args: string[]) => {
  appendFileSync(
    join(root, 'script.ts'),
    `process.on('disconnect', () => { console.log('disconnected'); process.exit(); });
    setTimeout(() => process.exit(), 20_000);
    console.log('pids', process.ppid, JSON.stringify(process.env.npm_lifecycle_event));`,
  );
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  manifest.scripts = { start: 'node ops/setup/run.mjs script.ts' };
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
  await run('--bin', 'node', '--version');
  rmSync(join(root, 'bin/npm'));
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const end = waitForEnd(child);
  const launcher = await new Promise<number>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      const pid = /pids (\d+) "start"/.exec(chunk.toString())?.[1];
      if (pid !== undefined) resolve(Number(pid));
    });
  });
  return { child, end, launcher };
};
const parentOf = (pid: number): number =>
  Number(/.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]);

for (const [title, signal, pick] of [
  ['npm gets SIGTERM', 'SIGTERM', (npm: number) => npm],
  ['npm is killed', 'SIGKILL', (npm: number) => npm],
  ['the shell of npm is killed', 'SIGKILL', (_npm: number, launcher: number) => parentOf(launcher)],
  ['the launcher is killed', 'SIGKILL', (_npm: number, launcher: number) => launcher],
] as const) {
  test(`when ${title}, the script is disconnected and all processes end`, async () => {
    const { child, end, launcher } = await startThroughNpm('npm', 'start');
    process.kill(pick(child.pid ?? -1, launcher), signal);

    assert.match((await end).output, 'disconnected');
  });
}

test('npm in the background keeps running when the shell that started it ends', async () => {
  const script = 'npm start & echo "npm $!"; wait';
  const { child, end, launcher } = await startThroughNpm('sh', '-c', script);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  // The launcher polls its parents four times a second.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  process.kill(launcher, 0);
  process.kill(launcher, 'SIGKILL');

  assert.match((await end).output, /npm \d+/);
});

test('the types of a text are stripped once, and a changed text is stripped again', async () => {
  const cache = join(root, 'node_modules/.rollcall/stripped');
  await run('script.ts');
  const [file = ''] = readdirSync(cache);
  const writtenMs = statSync(join(cache, file)).mtimeMs;

  assert.equal(await run('script.ts'), { code: 7, output: 'script\n' });
  assert.is(statSync(join(cache, file)).mtimeMs, writtenMs, 'the same text is not stripped again');

  appendFileSync(join(root, 'script.ts'), `console.log('changed' satisfies string);`);
  assert.is((await run('script.ts')).output, 'script\nchanged\n');

  truncateSync(join(cache, file), statSync(join(cache, file)).size - 5);
  assert.is((await run('script.ts')).output, 'script\nchanged\n');
  assert.equal(readdirSync(cache), [file], 'one file per source');
});

test('compiled code is kept, but not by the program of an installation', async () => {
  const compiled = join(root, 'node_modules/.rollcall/compiled');
  const stripped = join(root, 'ops/setup/stripped.mjs');
  await run('script.ts');
  assert.is(readdirSync(compiled).length, 1, 'one folder for this version of Node');

  rmSync(compiled, { recursive: true });
  const started = spawn(process.execPath, ['--import', `${stripped}?read-only`, join(root, 'script.ts')]);
  await watchChild(started).ended;
  assert.is(existsSync(compiled), false);
});

test('a script runs where the cache cannot be written', async () => {
  fakeNpm('mkdir -p node_modules/.rollcall && touch node_modules/.rollcall/stripped');

  assert.is((await run('script.ts')).output.endsWith('script\n'), true);
});

test('a tool of node_modules/.bin runs with --bin', async () => {
  await run('script.ts');
  writeFileSync(join(root, 'node_modules/.bin/tool'), `console.log('tool', process.argv[2])`);

  assert.equal(await run('--bin', 'tool', 'x'), { code: 0, output: 'tool x\n' });
});

test('the program gives Node the same options as npm start', () => {
  const text = readFileSync(new URL('../../ops/bin/rollcall', import.meta.url), 'utf8').replaceAll(
    / \\\n +/g,
    ' ',
  );

  assertIncludes(text, `/node" ${nodeFlags.join(' ')} $busy `, nodeFlags.join(' '));
  assertIncludes(text, `\n[ -z "\${REDIS_URL-}" ] || busy='${busyNodeFlags.join(' ')}'\n`);
  const arena = 'MALLOC_ARENA_MAX';
  assertIncludes(text, `\n[ -n "\${REDIS_URL-}" ] || export ${arena}="\${${arena}-1}"\n`);
});

test('a node without Redis has one arena of glibc, unless the operator sets another number', () => {
  assert.equal(buildEnvironment({ A: 'b' }), { A: 'b', MALLOC_ARENA_MAX: '1' });
  assert.equal(buildEnvironment({ MALLOC_ARENA_MAX: '4' }), { MALLOC_ARENA_MAX: '4' });
  assert.equal(buildEnvironment({ REDIS_URL: 'redis://x' }), { REDIS_URL: 'redis://x' });
});

test.run();

/**
 * The test runner itself, on small files that are bad in one way each: none of them may pass, none may leave
 * a process behind.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countReplies, hostilePaths, isHostile } from './runner/hostile.ts';
import { type Outcome, runFile, startTestProcess } from './runner/test-process.ts';

const test = suite('runner');
const folder = mkdtempSync(join(tmpdir(), 'samples-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const head = `import { suite } from '${import.meta.resolve('uvu')}';\nconst test = suite('sample');\n`;

let samples = 0;
const run = (body: string): Promise<Outcome> => {
  const file = join(folder, `sample-${samples++}.mjs`);
  writeFileSync(file, head + body);
  return runFile(file, { seconds: 2, graceMs: 300 });
};
const gone = (pid: number): boolean => {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
};

test('a good file passes and its tests are counted', async () => {
  const outcome = await run(`test('a', () => {}); test('b', () => {}); test.run();`);

  assert.equal(outcome.counts, { total: 2, passed: 2, skipped: 0 });
  assert.is(outcome.failures, 0);
});

test('a failing test is one failure, told in full', async () => {
  const outcome = await run(
    `test('a', () => { throw new Error('reason') }); test('b', () => {}); test.run();`,
  );

  assert.is(outcome.failures, 1);
  assert.is(outcome.counts?.passed, 1);
  assert.match(outcome.output, /reason/);
});

test('a character that is written in two pieces is read as one', async () => {
  const { output } = await run(`test('a', () => new Promise((done) => {
    process.stdout.write(Buffer.from([0xe2, 0x82]));
    setTimeout(() => process.stdout.write(Buffer.from([0xac]), done), 50);
  })); test.run();`);

  assert.match(output, /€/);
});

for (const [title, body, words] of [
  ['a file without .run()', `test('a', () => {});`, /is `test.run\(\)` missing/],
  ['.only', `test('a', () => {}); test['only']('b', () => {}); test.run();`, /left out/],
  ['.skip', `test['skip']('a', () => {}); test('b', () => {}); test.run();`, /left out/],
  ['a hook that throws', `test.before(() => { throw 1 }); test('a', () => {}); test.run();`, /hook threw/],
  ['a file that does not load', `import './nowhere.mjs';`, /ended before its tests/],
  ['an early exit', `test('a', () => process.exit(0)); test.run();`, /ended before its tests/],
  [
    'a failure after the tests',
    `test('a', () => {}); test.run(); process.on('exit', () => { process.exitCode = 3 });`,
    /failed afterwards/,
  ],
  [
    'a test that never ends',
    `test('a', () => new Promise((r) => setTimeout(r, 1e6))); test.run();`,
    /time limit/,
  ],
  ['a busy loop', `test('a', () => { for (;;); }); test.run();`, /time limit/],
  [
    'an open timer',
    `setInterval(() => {}, 1e6); test('a', () => {}); test.run();`,
    /something is still open/,
  ],
] as const) {
  test(`${title} is a failure`, async () => {
    const outcome = await run(body);

    assert.is(outcome.failures, 1, outcome.problems.join('; '));
    assert.match(outcome.problems.join('; '), words);
  });
}

for (const hook of ['before', 'before.each', 'after.each']) {
  test(`the reason of a ${hook} hook that throws is told`, async () => {
    const outcome = await run(
      `test.${hook}(() => { throw new Error('no port is free') }); test('a', () => {}); test.run();`,
    );

    assert.is(outcome.failures, 1, outcome.problems.join('; '));
    assert.match(outcome.output, /FAIL {2}sample {2}"a.*\n.*no port is free/);
  });
}

test('the reason is told also when what was not opened cannot be closed', async () => {
  const outcome = await run(`
    let server;
    test.before(() => { throw new Error('no port is free') });
    test.after(() => server.close());
    test('a', () => {}); test.run();`);

  assert.is(outcome.failures, 1, outcome.problems.join('; '));
  assert.match(outcome.output, /no port is free/);
});

test('what keeps a process alive is named', async () => {
  const outcome = await run(`setInterval(() => {}, 1e6); test('a', () => {}); test.run();`);

  assert.match(outcome.problems.join('; '), /Still open:.*Timeout/);
});

test('a child that outlives its test is a failure, and is ended even in a session of its own', async () => {
  const outcome = await run(`
    import { spawn } from 'node:child_process';
    test('a', () => {
      const words = ['-e', 'setInterval(() => {}, 1e6)'];
      const child = spawn(process.execPath, words, { detached: true, stdio: 'ignore' });
      child.unref();
      console.log('child ' + child.pid + ' ');
    });
    test.run();`);
  const pid = Number(/child (\d+)/.exec(outcome.output)?.[1]);

  assert.match(outcome.problems.join('; '), /left processes running/);
  while (!gone(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
});

/** Like Redis under its guardian: in a session of its own, and without the mark in its environment. */
const hidden = `
  import { spawn } from 'node:child_process';
  const guarded = (then) => {
    const guardian = spawn('sh', ['-c', 'env -i sleep 1000 & echo $!; wait'], { detached: true });
    guardian.stdout.once('data', (pid) => { console.log('child ' + pid); then(); });
  };`;
const childOf = (output: string): number => Number(/child (\d+)\s/.exec(output)?.[1] ?? 0);
const untilGone = async (pid: number): Promise<void> => {
  assert.ok(pid > 0, 'the child was started');
  const endMs = performance.now() + 20_000;
  while (!gone(pid) && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(gone(pid), 'the child is gone');
};

test('a child that hides its mark is ended with the one that started it', async () => {
  const outcome = await run(
    `// time limit: 60 s${hidden} test('a', () => new Promise((r) => guarded(r))); test.run();`,
  );

  assert.is(outcome.failures, 1, outcome.problems.join('; '));
  await untilGone(childOf(outcome.output));
});

test('a killed runner leaves no process behind', async () => {
  const [file, printed, runner] = [
    join(folder, 'left.mjs'),
    join(folder, 'told'),
    join(folder, 'runner.mjs'),
  ];
  const tell = `console.log = (words) => fs.writeFileSync('${printed}', words);`;
  const body = `${hidden} test('a', () => new Promise(() => guarded(() => {}))); test.run();`;
  writeFileSync(file, `import fs from 'node:fs'; ${head} ${tell} ${body}`);
  const program = `import { runFile } from '${import.meta.resolve('./runner/test-process.ts')}';`;
  writeFileSync(runner, `${program} await runFile('${file}', { seconds: 60 });`);
  const child = spawn(process.execPath, [runner], { stdio: 'ignore' });
  while (!existsSync(printed) || childOf(readFileSync(printed, 'utf8')) === 0)
    await new Promise((resolve) => setTimeout(resolve, 10));
  child.kill('SIGKILL');

  await untilGone(childOf(readFileSync(printed, 'utf8')));
});

test('files of one process are judged one by one, and a good one leaves it usable', async () => {
  const { run: runShared, isUsable, end } = startTestProcess({ seconds: 2, graceMs: 300 });
  const runNext = (body: string): Promise<Outcome> => {
    const next = join(folder, `shared-${samples++}.mjs`);
    writeFileSync(next, head + body);
    return runShared(next);
  };

  const first = await runNext(`process.env.LEFT = 'x'; test('a', () => {}); test.run();`);
  const second = await runNext(
    `test('a', () => { if (process.env.LEFT) throw new Error('left') }); test('b', () => {}); test.run();`,
  );
  const third = await runNext(`setInterval(() => {}, 1e6); test('a', () => {}); test.run();`);

  assert.equal([first.failures, first.counts?.total], [0, 1]);
  assert.equal([second.failures, second.counts?.total], [0, 2]);
  assert.match(third.problems.join('; '), /still open: Timeout/);
  assert.not(isUsable());
  assert.equal(await end(), []);
});

test('a file may ask for a longer time limit in its header', async () => {
  const outcome = await run(
    `// time limit: 9 s\ntest('a', () => new Promise((r) => setTimeout(r, 2_200))); test.run();`,
  );

  assert.is(outcome.failures, 0, outcome.problems.join('; '));
});

const runTests = (...args: string[]): { status: number | null; stdout: string } =>
  spawnSync(process.execPath, [...process.execArgv, 'test/run.ts', ...args], { encoding: 'utf8' });

test('several names run the files of each', () => {
  const { status, stdout } = runTests('limits/gcra', 'engine/rules/pages', 'request/accept');

  assert.match(stdout, 'test/http/limits/gcra.test.ts');
  assert.match(stdout, 'test/http/request/accept.test.ts');
  assert.is(status, 0, stdout);
});

test('--help prints what the runner can do', () => {
  const { status, stdout } = runTests('--help');

  assert.is(status, 0);
  assert.match(stdout, 'npm run test:faults');
});

test('the word `hostile` selects every suite of hostile clients, and their replies are added', () => {
  const files = globSync('test/**/*.{test,fault}.ts').filter(isHostile);
  const named = [...hostilePaths, 'test/faults/cases/http-hostile-clients.fault.ts'];
  const missing = named.filter((path) => !files.some((file) => file.startsWith(path)));
  assert.equal(missing, []);

  const [one, other] = ['"all":7,"of500":0', '"all":5,"of500":2'].map(
    (counts) => `figures: {"name":"replies",${counts}}\n`,
  );
  assert.equal(countReplies(`a\n${one}b\n${other}`), { all: 12, of500: 2 });
});

test.run();

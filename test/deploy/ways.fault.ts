/**
 * The two ways from a clone to a running server, as the documents describe them, under each Node that may
 * run npm: the newcomer's `npm start`, and the operator's `npm install --omit=dev` with `ops/bin/rollcall`.
 * And the `npm ci` of build servers, under two releases of npm, and `npm test`.
 *
 * Each begins with a fresh clone of the last commit, an empty home folder and a user without rights. Needs
 * the registry of npm.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { type Clone, cloneProject, installNode, isRoot, type Started } from './clone.ts';

const test = suite('ways to a server');
const startSecondsMax = 300;
const productionMegabytesMax = 320;

/** Waits until the output shows the addresses. Rejects with the output when the command ends before. */
const waitForWelcome = async (started: Started): Promise<string> => {
  const limit = AbortSignal.timeout(startSecondsMax * 1_000);
  const isOver = { yet: false };
  void started.ended.then(() => {
    isOver.yet = true;
  });
  for (;;) {
    const url = /Address +(http:\S+)\n/.exec(started.output())?.[1];
    if (url !== undefined && started.output().includes('Press Ctrl-C')) return url;
    if (isOver.yet || limit.aborted) throw new Error(`No server:\n${started.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const choosePorts = async (): Promise<Record<string, string>> => ({
  PORT: String(await findFreePort()),
  ADMIN_PORT: String(await findFreePort()),
});

/** The page, its script and one list of the server at `url`. */
const assertServes = async (url: string): Promise<void> => {
  for (const path of ['/docs', '/docs/reference.js', '/bots/@all']) {
    const reply = await fetch(`${url}${path}`);
    assert.is(reply.status, 200, path);
    await reply.arrayBuffer();
  }
};

const stop = async (started: Started): Promise<void> => {
  started.child.kill('SIGTERM');
  const { output } = await started.ended;
  assert.match(output, 'Draining');
};

for (const major of ['18', '20', '22']) {
  let nodeFolder = '';
  let clone: Clone;
  const inClone = (title: string, way: () => Promise<void>): void =>
    test(`${title}, Node ${major}`, async () => {
      nodeFolder ||= installNode(major);
      clone = cloneProject(nodeFolder);
      try {
        await way();
      } finally {
        clone.dispose();
      }
    });

  inClone('npm start installs what the server needs and serves', async () => {
    const ports = await choosePorts();
    const beganMs = performance.now();
    const first = clone.start('npm', ['start'], ports);
    await assertServes(await waitForWelcome(first));
    const firstSeconds = Math.round((performance.now() - beganMs) / 1_000);
    await stop(first);
    const againMs = performance.now();
    const second = clone.start('npm', ['start'], ports);
    await waitForWelcome(second);
    const secondSeconds = Math.round((performance.now() - againMs) / 1_000);
    await stop(second);

    assert.not.match(second.output(), 'Installing');
    assert.is(clone.listChanges(), '', 'the clone is as git left it');
    const megabytes = clone.measureMegabytes(join(clone.folder, 'node_modules'));
    assert.ok(megabytes <= productionMegabytesMax, `${megabytes} MB`);
    console.log(
      `figures: npm start, Node ${major}: ${firstSeconds} s and ${secondSeconds} s to ready, ` +
        `${megabytes} MB, ${clone.measureMegabytes(clone.home)} MB in the home folder`,
    );
  });

  inClone('npm install --omit=dev is complete, and the program then writes nothing there', async () => {
    const { code, output, seconds } = await clone.execute('npm', ['install', '--omit=dev']);
    assert.is(code, 0, output);
    assert.match(output, /is installed, and all its parts load/);
    assert.is(clone.listChanges(), '', 'the clone is as git left it');
    const megabytes = clone.measureMegabytes(join(clone.folder, 'node_modules'));
    assert.ok(megabytes <= productionMegabytesMax, `${megabytes} MB`);
    clone.forbidWriting();

    const program = join(clone.folder, 'ops/bin/rollcall');
    const settings = { ...(await choosePorts()), DATA_DIR: join(clone.home, 'data'), DEMO: 'off' };
    const node = clone.start(program, ['start'], settings);
    await assertServes(await waitForWelcome(node));
    const jobs = await clone.execute(program, ['ops', 'jobs', 'list'], settings);
    const help = await clone.execute('npm', ['run', 'ops', '--', 'help'], settings);
    await stop(node);
    const version = await clone.execute(program, ['version']);

    assert.is(jobs.code, 0, jobs.output);
    assert.is(help.code, 0, help.output);
    assert.not.match(help.output, 'Installing');
    assert.match(version.output, /^rollcall \d+\.\d+\.\d+ \([0-9a-f]{12}\), Node v22\./);
    console.log(`figures: npm install --omit=dev, Node ${major}: ${seconds} s, ${megabytes} MB`);
  });

  test.after(() => rmSync(nodeFolder, { recursive: true, force: true }));
}

for (const npm of ['10.9.9', '11.19.1']) {
  test(`npm ci installs everything, npm ${npm}`, async () => {
    const nodeFolder = installNode('22', npm);
    const clone = cloneProject(nodeFolder);
    try {
      const version = await clone.execute('npm', ['--version']);
      const { code, output, seconds } = await clone.execute('npm', ['ci']);
      assert.is(version.output.trim(), npm);
      assert.is(code, 0, output);
      assert.match(output, /is installed, and all its parts load/);
      assert.is(clone.listChanges(), '', 'the clone is as git left it');
      console.log(`figures: npm ci, npm ${npm}: ${seconds} s`);
    } finally {
      clone.dispose();
      rmSync(nodeFolder, { recursive: true, force: true });
    }
  });
}

for (const who of ['root', 'another user']) {
  test(`npm test passes in a folder that nobody else may enter, as ${who}`, async () => {
    if (who === 'root' && !isRoot) return console.log('\nskipped: npm test as root: this is another user');
    const nodeFolder = installNode('22');
    const clone = cloneProject(nodeFolder, ...(who === 'root' ? [null] : []));
    try {
      const { code, output, seconds } = await clone.execute('npm', ['test']);
      assert.is(code, 0, output);
      assert.is(clone.listChanges(), '', 'the clone is as git left it');
      console.log(`figures: npm test as ${who}: ${seconds} s, ${/^\d+ passed.*$/m.exec(output)?.[0]}`);
    } finally {
      clone.dispose();
      rmSync(nodeFolder, { recursive: true, force: true });
    }
  });
}

test.run();

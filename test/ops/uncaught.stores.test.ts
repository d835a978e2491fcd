/**
 * An uncaught error in a real process, or the end of its embedded SQL: it is logged, the node drains, and the
 * process exits with 1, so that the next node finds all data.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { postServers, readServers, startNode } from '../support/node-process.ts';
import { isSqlShutDown } from '../support/sql-shut-down.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('an uncaught error');
const folder = makeFolder('rollcall-uncaught-');
const dataDir = join(folder, 'data');
/** TMPDIR of the node: holds the socket of its database, so that the test can find it. */
const temporary = join(folder, 't');
mkdirSync(temporary);
test.before(() => makeBareFolder(dataDir));

const preload = new URL('./uncaught-preload.ts', import.meta.url).href;
const startDemoNode = () =>
  startNode({
    dataDir,
    settings: {
      DEMO: 'on',
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`,
      TMPDIR: temporary,
    },
  });
test('the node logs it, drains, exits with 1, and loses nothing acknowledged', async () => {
  const node = await startDemoNode();
  assert.is(await postServers(node.url, dataDir, 31_337), 200);
  node.signal('SIGUSR2');
  const { code, signal } = await node.exited;

  assert.is(signal, null);
  assert.is(code, 1);
  assert.match(node.output(), /fatal uncaught error: this process ends/);
  assert.match(node.output(), /a fault of the test, thrown/);
  assert.ok(isSqlShutDown(dataDir), 'the stores were closed');

  const next = await startDemoNode();
  assert.is(await readServers(next.url, dataDir), 31_337);
  assert.is((await next.stop()).code, 0);
});

test('more errors and a signal during the drain neither stop it nor change the exit code', async () => {
  const node = await startDemoNode();
  for (const name of ['SIGUSR2', 'SIGUSR2', 'SIGTERM'] as const) node.signal(name);
  const { code } = await node.exited;

  assert.is(code, 1);
  assert.match(node.output(), /a fault of the test, thrown/);
  assert.ok(isSqlShutDown(dataDir));
});

/** A malformed first message ends a backend of the database; the embedded one has only one backend. */
const endDatabase = (): void => {
  const [socketFolder = ''] = readdirSync(temporary).filter((name) => name.startsWith('rollcall-sql-'));
  const socket = connect(join(temporary, socketFolder, 's'));
  socket.on('error', () => socket.destroy()).resume();
  socket.write(Buffer.concat([Buffer.from([0, 0, 0, 20, 0, 3, 0, 0]), Buffer.from('user\0nobody\0')]));
};

test('a node whose embedded SQL ends does the same, and logs no token', async () => {
  const node = await startDemoNode();
  assert.is(await postServers(node.url, dataDir, 424_242), 200);
  endDatabase();
  const { code } = await node.exited;

  assert.is(code, 1);
  assert.match(node.output(), /Ending, so that a new process can start: the embedded database ended/);
  assert.match(node.output(), /Z fatal /);
  const lines = node.output().split('\n');
  assert.not.match(lines.filter((line) => line.startsWith('{')).join('\n'), 'rc_bot_');

  const next = await startDemoNode();
  assert.is(await readServers(next.url, dataDir), 424_242);
  assert.is((await next.stop()).code, 0);
});

test('a stop that does not end is cut off after its limit', () => {
  const child = fileURLToPath(new URL('./uncaught-child.ts', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, child], { encoding: 'utf8' });

  assert.is(status, 1);
  assert.match(stdout, /uncaught error: this process ends/);
});

test.run();

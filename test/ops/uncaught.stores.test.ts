/**
 * An uncaught error in a real process: it is logged, the node drains, and the process exits with 1.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DemoFile } from '../../ops/demo/access.ts';
import { makeFolder } from '../support/folder.ts';
import { startNode } from '../support/node-process.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('an uncaught error');
const folder = makeFolder('rollcall-uncaught-');
const dataDir = join(folder, 'data');
test.before(() => makeBareFolder(dataDir));

const preload = new URL('./uncaught-preload.ts', import.meta.url).href;
const startDemoNode = () =>
  startNode({
    dataDir,
    settings: { DEMO: 'on', NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${preload}` },
  });
const demo = (): DemoFile => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
const post = async (url: string, servers: number): Promise<number> => {
  const { bot } = demo();
  const headers = { 'Bot-Auth': bot.token };
  const body = JSON.stringify({ servers });
  return (await fetch(`${url}/bots/stats`, { method: 'POST', headers, body })).status;
};

test('the node logs it, drains, exits with 1, and loses nothing acknowledged', async () => {
  const node = await startDemoNode();
  assert.is(await post(node.url, 31_337), 200);
  node.signal('SIGUSR2');
  const { code, signal } = await node.exited;

  assert.is(signal, null);
  assert.is(code, 1);
  assert.match(node.output(), /fatal uncaught error: this process ends/);
  assert.match(node.output(), /a fault of the test, thrown/);
  const state = JSON.parse(readFileSync(join(dataDir, 'sql.state.json'), 'utf8'));
  assert.is(state.open, false, 'the stores were closed');

  const next = await startDemoNode();
  const shown = await (await fetch(`${next.url}/bots/${demo().bot.id}`)).json();
  assert.is((await next.stop()).code, 0);
  assert.is((shown as { servers: number }).servers, 31_337);
});

test('more errors and a signal during the drain neither stop it nor change the exit code', async () => {
  const node = await startDemoNode();
  for (const name of ['SIGUSR2', 'SIGUSR2', 'SIGTERM'] as const) node.signal(name);
  const { code } = await node.exited;

  assert.is(code, 1);
  assert.match(node.output(), /a fault of the test, thrown/);
  assert.is(JSON.parse(readFileSync(join(dataDir, 'sql.state.json'), 'utf8')).open, false);
});

test('a stop that does not end is cut off after its limit', () => {
  const child = fileURLToPath(new URL('./uncaught-child.ts', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, child], { encoding: 'utf8' });

  assert.is(status, 1);
  assert.match(stdout, /uncaught error: this process ends/);
});

test.run();

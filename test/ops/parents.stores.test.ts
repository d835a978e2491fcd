/**
 * The server and what may leave it: it drains when the npm that started it gets SIGTERM and when its terminal
 * closes, and it still drains on SIGTERM when its output is closed. Without its data folder it ends at once.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { quiet, spawnNode } from '../support/node-process.ts';
import { isSqlShutDown } from '../support/sql-shut-down.ts';
import { makeBareFolder } from '../support/sql-template.ts';
import { until } from '../support/until.ts';

const test = suite('parents');
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = makeFolder('rollcall-parents-');
const template = join(folder, 'template');
test.before(() => makeBareFolder(template));

const copyTemplate = (name: string): string => {
  const dataDir = join(folder, name);
  cpSync(template, dataDir, { recursive: true });
  return dataDir;
};
const isDrained = (dataDir: string): boolean => !existsSync(join(dataDir, 'lock')) && isSqlShutDown(dataDir);

test('SIGTERM to npm start drains the server', async () => {
  const dataDir = copyTemplate('npm');
  const npm = spawn('npm', ['start'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...quiet, PORT: '0', ADMIN_PORT: '0', DATA_DIR: dataDir },
  });
  let output = '';
  const closed = new Promise<void>((resolve) => npm.once('close', () => resolve()));
  const ready = new Promise<void>((resolve) => {
    npm.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('is ready')) resolve();
    });
  });
  npm.stderr.resume();
  await Promise.race([ready, closed]);
  npm.kill('SIGTERM');
  // `close` comes when every process that holds the output has ended, not only npm.
  await closed;

  assert.match(output, 'Draining');
  assert.ok(isDrained(dataDir));
});

test('SIGTERM during the start ends it without a welcome', async () => {
  const dataDir = copyTemplate('starting');
  const node = spawnNode({ dataDir });
  await until('it has locked its folder', () => existsSync(join(dataDir, 'lock')));
  node.signal('SIGTERM');

  assert.is((await node.exited).code, 0);
  assert.match(node.output(), 'Draining');
  assert.not.match(node.output(), 'is ready');
  assert.ok(isDrained(dataDir));
});

test('it drains and exits with 0 also when its output is closed', async () => {
  const dataDir = copyTemplate('output');
  const node = spawnNode({ dataDir });
  await node.ready;
  node.closeOutput();
  node.signal('SIGTERM');

  assert.is((await node.exited).code, 0);
  assert.ok(isDrained(dataDir));
});

test('it ends when its data folder is deleted', async () => {
  const dataDir = copyTemplate('deleted');
  const node = spawnNode({ dataDir });
  await node.ready;
  rmSync(dataDir, { recursive: true });

  assert.is((await node.exited).code, 1);
  assert.match(node.output(), 'was deleted, or locked by another process');
  assert.not.ok(existsSync(dataDir));
});

test('a terminal that closes drains it', async () => {
  const dataDir = copyTemplate('terminal');
  const node = spawnNode({ dataDir });
  await node.ready;
  // One signal from the terminal, one from the launcher.
  node.signal('SIGHUP');
  node.signal('SIGHUP');

  assert.is((await node.exited).code, 0);
  assert.ok(isDrained(dataDir));
});

test.run();

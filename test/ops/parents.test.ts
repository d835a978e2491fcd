/**
 * The server and the processes around it: it drains when the npm that started it gets SIGTERM and when its
 * terminal closes, and drains as always when nobody reads its output any more.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { quiet, spawnNode } from '../support/node-process.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('parents');
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rollcall-parents-'));
const template = join(folder, 'template');
test.before(() => makeBareFolder(template));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const copyOf = (name: string): string => {
  const dataDir = join(folder, name);
  cpSync(template, dataDir, { recursive: true });
  return dataDir;
};
const isDrained = (dataDir: string): boolean =>
  !existsSync(join(dataDir, 'lock')) &&
  JSON.parse(readFileSync(join(dataDir, 'sql.state.json'), 'utf8')).open === false;

test('SIGTERM to npm start drains the server', async () => {
  const dataDir = copyOf('npm');
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
  // Not the end of npm: every process that could write to its output has ended.
  await closed;

  assert.match(output, 'Draining');
  assert.ok(isDrained(dataDir));
});

test('it drains as always when its output is closed, and ends with 0', async () => {
  const dataDir = copyOf('output');
  const node = spawnNode({ dataDir });
  await node.ready;
  node.closeOutput();
  node.signal('SIGTERM');

  assert.is((await node.exited).code, 0);
  assert.ok(isDrained(dataDir));
});

test('a terminal that closes drains it', async () => {
  const dataDir = copyOf('terminal');
  const node = spawnNode({ dataDir });
  await node.ready;
  // One comes from the terminal, one from the launcher.
  node.signal('SIGHUP');
  node.signal('SIGHUP');

  assert.is((await node.exited).code, 0);
  assert.ok(isDrained(dataDir));
});

test.run();

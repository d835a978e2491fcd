/**
 * What each signal does to a node, as docs/operators/install.md says: it drains, or nothing happens. Through
 * the launcher, too; and SIGHUP that who starts it ignores stays ignored.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { type NodeProcess, spawnNode } from '../support/node-process.ts';
import { isSqlShutDown } from '../support/sql-shut-down.ts';
import { makeBareFolder } from '../support/sql-template.ts';
import { until } from '../support/until.ts';

const test = suite('signals');
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = makeFolder('rollcall-signals-');
const template = join(folder, 'template');
test.before(() => makeBareFolder(template));

/** The rows of the document: signals, and whether they drain. */
const rows = [
  ...readFileSync(join(root, 'docs/operators/install.md'), 'utf8').matchAll(
    /^\| (`SIG.+?) \| .+? \| (\w+)/gm,
  ),
].map(([, names = '', effect]) => ({
  signals: [...names.matchAll(/SIG\w+/g)].map(String) as NodeJS.Signals[],
  drains: effect === 'drains',
}));
const draining = rows.flatMap(({ signals, drains }) => (drains ? signals : []));
const idle = rows.flatMap(({ signals, drains }) => (drains ? [] : signals));

const launcher = [process.execPath, join(root, 'ops/setup/run.mjs'), 'ops/main.ts'];
const program = join(root, 'ops/bin/rollcall');

let count = 0;
const spawnWith = (through?: readonly string[]): NodeProcess & { readonly dataDir: string } => {
  const dataDir = join(folder, String(count++));
  cpSync(template, dataDir, { recursive: true });
  return { ...spawnNode({ dataDir, ...(through && { through }) }), dataDir };
};

/** Runs `command` in a shell, which leaves out what `spawnNode` appends. */
const inShell = (...words: readonly string[]): readonly string[] => ['sh', '-c', words.join(' ')];

const assertServes = async (node: NodeProcess): Promise<void> => {
  const { adminUrl } = await node.ready;
  assert.is((await fetch(`${adminUrl}/livez`)).status, 200);
  assert.not.match(node.output(), /Debugger|Draining/);
};

const assertDrains = async (node: ReturnType<typeof spawnWith>, signal: NodeJS.Signals): Promise<void> => {
  await node.ready;
  node.signal(signal);
  assert.equal(await node.exited, { code: 0, signal: null }, signal);
  assert.match(node.output(), 'Draining');
  assert.ok(!existsSync(join(node.dataDir, 'lock')) && isSqlShutDown(node.dataDir), signal);
};

for (const signal of draining) {
  test(`${signal} drains`, () => assertDrains(spawnWith(), signal));
}

for (const [title, through] of [
  ['a node', inShell(`exec '${program}' start`)],
  ['the launcher', inShell(`exec '${launcher.join("' '")}'`)],
] as const) {
  test(`${title}: ${idle.join(' and ')} change nothing, SIGALRM drains`, async () => {
    assert.equal(idle, ['SIGUSR1', 'SIGUSR2']);
    const node = spawnWith(through);
    await node.ready;
    for (const signal of [...idle, ...idle]) node.signal(signal);
    await assertServes(node);
    await assertDrains(node, 'SIGALRM');
  });
}

test('SIGHUP that is ignored stays ignored, for a node and for a command', async () => {
  const node = spawnWith(inShell(`trap '' HUP; exec '${program}' start`));
  await node.ready;
  node.signal('SIGHUP');
  await assertServes(node);
  await assertDrains(node, 'SIGTERM');

  const dataDir = join(folder, 'command');
  const command = spawn('sh', ['-c', `trap '' HUP; exec '${program}' ops import -`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, DATA_DIR: dataDir },
  });
  const exited = once(command, 'exit');
  await until('it has locked its folder', () => existsSync(join(dataDir, 'lock')));
  command.kill('SIGHUP');
  command.stdin.end();
  assert.is((await exited)[1], null);
});

/** Receives one datagram, as systemd does; prints a line before, and then what it says. */
const receiver = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
print(s.recv(999).decode())`;

test('it tells systemd that it is ready, and writes no time into the journal', async () => {
  const socket = join(folder, 'notify');
  const python = spawn('python3', ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said = text(python.stdout);
  await until('it listens', () => existsSync(socket));
  const stream = 'exec 3>&1; export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/3)"';
  const node = spawnWith(
    inShell(
      `export NOTIFY_SOCKET='${socket}' LOG_FORMAT=json LOG_LEVEL=info; ${stream}; exec '${program}' start`,
    ),
  );
  const { adminUrl } = await node.ready;
  try {
    assert.match(await said, /^bound\nREADY=1/);
    assert.is((await fetch(`${adminUrl}/livez`)).status, 200);
  } finally {
    python.kill();
    await node.stop();
  }
  const lines = node.output().trim().split('\n');
  const times = lines.filter((line) => JSON.parse(line).time !== undefined);
  assert.equal(times, []);
});

test.run();

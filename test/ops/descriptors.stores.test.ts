/**
 * A node on the embedded stores without file descriptors says so, calls nothing damaged, and rests. Needs
 * `prlimit`, which takes descriptors from a running process.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { makeDataFolder } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import { spawnNode, startNode } from '../support/node-process.ts';
import { assertNote, untilNoNote } from '../support/notes.ts';
import { until } from '../support/until.ts';
import { sizes } from './cli/counting.ts';

const test = createSuiteNeeding('a node without descriptors', () =>
  execFileSync('prlimit', ['--version'], { stdio: 'ignore' }),
);
const crowd = 100;

const setLimit = (pid: number, files: number): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`]);

/** Milliseconds of CPU that the process has used. */
const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** Asks over one connection that stays open, because there is no descriptor for another one. */
const createAsk = (url: string): ((path: string) => Promise<string>) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (path) =>
    new Promise((resolve, reject) => {
      const pending = request(url + path, { agent }, async (reply) => {
        let body = '';
        for await (const chunk of reply) body += chunk;
        resolve(body);
      });
      pending.on('error', reject).end();
    });
};

test('it says so, calls nothing damaged, rests, and recovers', async () => {
  const dataDir = join(makeFolder('rollcall-descriptors-'), 'data');
  await makeDataFolder(dataDir, sizes);
  const node = await startNode({ dataDir, settings: { LOG_LEVEL: 'info' } });
  const ask = createAsk(node.adminUrl);
  const askPublic = createAsk(node.url);
  const { hostname, port } = new URL(node.url);
  try {
    await ask('/readyz');
    await askPublic('/apps/meta'); // It has no query: nothing of a request was checked yet.
    setLimit(node.pid, readdirSync(`/proc/${node.pid}/fd`).length + 10);
    const sockets = Array.from({ length: crowd }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on('error', () => {});

    await until('the note', async () => /hardly any file descriptors left/.test(await ask('/readyz')));
    assertNote('descriptors_used_up', JSON.parse(await ask('/readyz')).notes);
    const before = cpuMs(node.pid);
    await pause(6_000);
    const share = (cpuMs(node.pid) - before) / 6_000;
    assert.ok(share < 0.2, `${share} of a core`);
    setLimit(node.pid, 16); // Far fewer than are open: none is left.
    assert.match(
      await askPublic('/bots/1/votes/log?limit=x'),
      /"validation_failed"/,
      'the first invalid request',
    );
    await until('the line about it', () =>
      / error descriptors_used_up: This process has hardly any file descriptors left/.test(node.output()),
    );
    assert.is(/^.*SQL is damaged.*$/m.exec(node.output())?.[0], undefined);

    setLimit(node.pid, 4_096);
    await untilNoNote('descriptors_used_up', node);
    await until('the line about it', () => /descriptors_used_up: over/.test(node.output()));
    for (const socket of sockets) socket.destroy();
    assert.is((await fetch(`${node.url}/bots/@all`)).status, 200);
    assert.not.match(await ask('/readyz'), /SQL is damaged/);
  } finally {
    await node.kill();
  }
});

test('a start with too few says so, and changes nothing', async () => {
  const dataDir = join(makeFolder('rollcall-descriptors-'), 'data');
  const node = spawnNode({ dataDir, through: ['prlimit', '--nofile=256:256'] });

  assert.is((await node.exited).code, 1);
  assert.match(node.output(), /^The embedded stores need a limit of 400 open files.*ulimit -n/);
  assert.equal(readdirSync(dataDir), []);
});

test.run();

/**
 * A node whose embedded SQL ends: it reports that, drains, exits with 1, and the next node finds all data.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DemoFile } from '../../ops/demo/access.ts';
import { makeFolder } from '../support/folder.ts';
import { startNode } from '../support/node-process.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('a lost store');
const folder = makeFolder('rollcall-lost-');
const dataDir = join(folder, 'data');
/** TMPDIR of the node: holds the socket of its database, so that the test can find it. */
const temporary = join(folder, 't');
mkdirSync(temporary);
test.before(() => makeBareFolder(dataDir));

const startDemoNode = () => startNode({ dataDir, settings: { DEMO: 'on', TMPDIR: temporary } });
const demo = (): DemoFile => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));

/** A malformed first message ends a backend of the database; the embedded one has only one backend. */
const endDatabase = (): void => {
  const [socketFolder = ''] = readdirSync(temporary).filter((name) => name.startsWith('rollcall-sql-'));
  const socket = connect(join(temporary, socketFolder, 's'));
  socket.on('error', () => socket.destroy()).resume();
  socket.write(Buffer.concat([Buffer.from([0, 0, 0, 20, 0, 3, 0, 0]), Buffer.from('user\0nobody\0')]));
};

test('it drains, exits with 1 and a clear message, and loses nothing acknowledged', async () => {
  const node = await startDemoNode();
  const { bot } = demo();
  const posted = await fetch(`${node.url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': bot.token },
    body: '{"servers":424242}',
  });
  endDatabase();
  const { code } = await node.exited;

  assert.is(posted.status, 200);
  assert.is(code, 1);
  assert.match(node.output(), /Ending, so that a new process can start: the embedded database ended/);
  assert.match(node.output(), /Z fatal /);
  const log = node
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  assert.not.match(log.join('\n'), 'rc_bot_');

  const next = await startDemoNode();
  const shown = await (await fetch(`${next.url}/bots/${bot.id}`)).json();
  assert.is((await next.stop()).code, 0);
  assert.is((shown as { servers: number }).servers, 424_242);
});

test.run();

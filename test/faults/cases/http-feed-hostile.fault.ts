/**
 * Hostile clients of the feed on raw sockets: some never read, some read a byte a second, some answer no
 * ping, as one whose machine is gone. Memory per connection stays bounded, posts and other readers go on, and
 * the node ends those that do not read or answer.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readResidentBytes } from '../../../bench/machine/cpu.ts';
import { openSocket, openStream } from '../../http/feed/clients.ts';
import { makeFolder } from '../../support/folder.ts';
import { postServers, type StartedNode, startNode } from '../../support/node-process.ts';
import { until } from '../../support/until.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('hostile clients of the feed');
const folder = makeFolder('rollcall-feed-hostile-');
const settings = { DEMO: 'on', TRUSTED_PROXIES: '127.0.0.1', FEED_FRAME_MS: '50' };
const hostile = 200;
/** What a connection may cost, whatever its client does: all together are below what one address may hold. */
const bytesMax = 68 * 1_024;
let node: StartedNode;
let bots: readonly string[];

test.before(async () => {
  node = await startNode({ dataDir: folder, settings });
  const lines = readFileSync(new URL('../../../ops/demo/directory.jsonl', import.meta.url), 'utf8');
  const records = lines
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  bots = records
    .filter(({ kind, type }) => kind === 'bot' && (type === 'approved' || type === 'certified'))
    .map(({ bot_id }) => bot_id);
});
test.after(async () => {
  await node.stop();
});

const upgrade =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** Opens a feed of all bots from an address of its own and reads only its head. */
const openRaw = (index: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
    const targets = bots.map((id) => `bot/${id}`).join();
    const head = index % 2 === 0 ? '' : upgrade;
    socket.once('error', reject);
    socket.once('data', () => {
      socket.pause();
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.write(
      `GET /feed?targets=${targets} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.${index}\r\n${head}\r\n`,
    );
  });

const readMetric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
  const values = text.match(new RegExp(`^${name}.* (\\d+)$`, 'gm')) ?? [];
  return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

/** Changes all bots, by their visitors. */
const visitAll = async (): Promise<void> => {
  await Promise.all(
    bots.map((id, index) =>
      fetch(`${node.url}/bots/${id}?target=page`, { headers: { 'x-forwarded-for': `10.1.0.${index}` } }),
    ),
  );
};

test('those that never read are bounded, hold up nothing, and are closed within two minutes', async () => {
  const reader = await openStream(node.url, `targets=bot/${bots[0]}`);
  await visitAll();
  const before = readResidentBytes(node.pid);
  const sockets = await Promise.all(Array.from({ length: hostile }, (_, index) => openRaw(index)));
  const trickle = setInterval(() => {
    for (const socket of sockets.slice(0, 10)) socket.read(1);
  }, 1_000);
  let grown = 0;
  const endMs = performance.now() + 30_000;
  while (performance.now() < endMs) {
    await visitAll();
    grown = Math.max(grown, readResidentBytes(node.pid) - before);
    await pause(20);
  }
  assert.is(await postServers(node.url, folder, 77), 200);
  // On a busy machine it takes longer than the loop above until all their sockets are full.
  const areClosed = async (): Promise<boolean> => {
    await visitAll();
    return (await readMetric('rollcall_feed_connections')) <= 1;
  };
  await until('they are closed', areClosed, 150_000);
  const conflated = await readMetric('rollcall_feed_conflated_total');
  clearInterval(trickle);
  for (const socket of sockets) socket.destroy();
  const last = reader.messages.length;
  await visitAll();
  await reader.find(({ event }) => event === 'totals', last);

  printFigures('clients of the feed that never read', {
    connections: hostile,
    conflated,
    kib: grown / 1_024,
  });
  assert.ok(conflated > 0, 'their sockets were full');
  // The heap of the process itself moves by some MiB in half a minute of load.
  assert.ok(grown < hostile * bytesMax + 40 * 2 ** 20, `${grown} bytes`);
  reader.close();
});

test('a WebSocket whose peer answers no ping is closed in two minutes; one that answers stays', async () => {
  const query = `targets=bot/${bots[0]}`;
  const [silent, live] = [await openRaw(101), await openSocket(node.url, query)];
  let isClosed = false;
  silent.once('close', () => {
    isClosed = true;
  });
  silent.resume();
  const fromMs = performance.now();
  await until('it is closed', async () => isClosed, 120_000);
  const seconds = (performance.now() - fromMs) / 1_000;
  live.send({ op: 'ping' });
  await live.next('pong');

  printFigures('a WebSocket without answers to pings', { seconds });
  assert.ok(seconds > 30, 'not at the first ping');
  live.close();
});

test.run();

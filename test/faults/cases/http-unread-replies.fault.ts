/**
 * Clients that ask for replies of every kind and read none, from one address and from 50: the node's memory
 * stays bounded and an ordinary reader is served as always. Time limit: 600 s. ATTACK_SECONDS is how long.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readResidentBytes } from '../../../bench/machine/cpu.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('replies that nobody reads');
const seconds = Number(process.env.ATTACK_SECONDS ?? 60);
const connections = 200;
const mebibyte = 1_048_576;
const settings = { DEMO: 'on', TRUSTED_PROXIES: '127.0.0.1', RATE_LIMITS: 'off' };
let node: StartedNode;

test.before(async () => {
  node = await startNode({ dataDir: makeFolder('rollcall-unread-'), settings });
});
test.after(async () => {
  await node.stop();
});

const paths = ['/openapi.json', '/docs', '/nothing', '/bots/@all', '/'];

const requestOf = (index: number, turn: number, addresses: number): string => {
  const path = paths[(index + turn) % paths.length];
  const method = turn % 7 === 3 ? 'HEAD' : 'GET';
  const from = `X-Forwarded-For: 198.51.100.${index % addresses}\r\n`;
  const match = turn % 5 === 2 ? 'If-None-Match: *\r\n' : '';
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\n${from}${match}\r\n`;
};

/** Keeps so many connections open that send ten requests every 60 ms, or one, and never read. */
const startAttack = (port: number, addresses: number) => {
  const sockets: (Socket | null)[] = Array.from({ length: connections }, () => null);
  let closed = 0;
  let turn = 0;
  const open = (index: number): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      closed += 1;
      sockets[index] = null;
    });
    return socket;
  };
  const timer = setInterval(() => {
    turn += 1;
    for (let index = 0; index < connections; index++) {
      const socket = sockets[index] ?? open(index);
      sockets[index] = socket;
      const count = index % 2 === 0 ? 10 : 1;
      if (socket.writableLength < 65_536) socket.write(requestOf(index, turn, addresses).repeat(count));
    }
  }, 60);
  return {
    closed: () => closed,
    end: () => {
      clearInterval(timer);
      for (const socket of sockets) socket?.destroy();
    },
  };
};

/** Reads for so long; resolves to the longest wait, ms. */
const readFor = async (ms: number): Promise<number> => {
  const endMs = performance.now() + ms;
  let worst = 0;
  while (performance.now() < endMs) {
    const begun = performance.now();
    const reply = await fetch(`${node.url}/openapi.json`, { headers: { 'X-Forwarded-For': '203.0.113.9' } });
    await reply.arrayBuffer();
    assert.is(reply.status, 200);
    worst = Math.max(worst, performance.now() - begun);
    await pause(20);
  }
  return worst;
};

for (const addresses of [1, 50]) {
  test(`200 connections of ${addresses} addresses: memory is bounded, others are served`, async () => {
    const aloneMs = await readFor(5_000);
    const before = readResidentBytes(node.pid);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, readResidentBytes(node.pid));
    }, 200);
    const attack = startAttack(Number(new URL(node.url).port), addresses);

    const besideMs = await readFor(seconds * 1_000);

    attack.end();
    clearInterval(watch);
    const grownMiB = Math.round((most - before) / mebibyte);
    printFigures(`unread replies, ${addresses} addresses`, {
      aloneMs: Math.round(aloneMs),
      besideMs: Math.round(besideMs),
      beforeMiB: Math.round(before / mebibyte),
      grownMiB,
      closed: attack.closed(),
    });
    assert.ok(grownMiB <= 300, `grew by ${grownMiB} MiB`);
  });
}

test.run();

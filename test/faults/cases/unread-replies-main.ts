/**
 * Clients of http-unread-replies, in processes of their own, so that none of them slows another or the node.
 *
 *   attack PORT ADDRESSES SECONDS   200 connections from so many addresses that ask and never read
 *   read URL SECONDS                     an ordinary reader; prints how long it waited
 */
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

const connections = 200;
const everyMs = 60;
/** What the node reads slowly waits in the client: no more than this of it. */
const waitingBytesMax = 65_536;
/** Most of all the largest documents. */
const mixed = ['/docs', '/nothing', '/bots/@all', '/', '/openapi.json'];

const requestOf = (index: number, turn: number): string => {
  const path = index % 2 === 0 ? '/openapi.json' : mixed[(index + turn) % mixed.length];
  const method = index % 4 === 3 && turn % 7 === 3 ? 'HEAD' : 'GET';
  const match = index % 4 === 1 && turn % 5 === 2 ? 'If-None-Match: *\r\n' : '';
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\n${match}\r\n`;
};

/** Of four connections three send ten requests at a time, one a single one. */
const countOf = (index: number): number => (index % 4 === 3 ? 1 : 10);

const attack = async (port: number, addresses: number, seconds: number): Promise<void> => {
  // Attackers have machines of their own: here they get what the node and the reader leave.
  setPriority(19);
  const sockets: (Socket | null)[] = Array.from({ length: connections }, () => null);
  const figures = { opened: 0, requests: 0 };
  const open = (index: number): Socket => {
    figures.opened += 1;
    const localAddress = `127.0.0.${10 + (index % addresses)}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.pause();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets[index] = null;
    });
    return socket;
  };
  const endMs = performance.now() + seconds * 1_000;
  for (let turn = 0; performance.now() < endMs; turn++) {
    for (let index = 0; index < connections; index++) {
      sockets[index] ??= open(index);
      const socket = sockets[index] as Socket;
      if (socket.writableLength > waitingBytesMax) continue;
      figures.requests += countOf(index);
      socket.write(requestOf(index, turn).repeat(countOf(index)));
    }
    await pause(everyMs);
  }
  for (const socket of sockets) socket?.destroy();
  console.log(JSON.stringify(figures));
};

const read = async (url: string, seconds: number): Promise<void> => {
  const endMs = performance.now() + seconds * 1_000;
  const waits: number[] = [];
  const refused: string[] = [];
  for (let turn = 0; performance.now() < endMs; turn++) {
    const begun = performance.now();
    const path = turn % 2 === 0 ? '/openapi.json' : '/bots/@all';
    const reply = await fetch(`${url}${path}`).catch((error: Error) => ({ status: `${error.cause}` }));
    if (reply instanceof Response) await reply.arrayBuffer();
    waits.push(performance.now() - begun);
    if (reply.status !== 200) refused.push(`${path}: ${reply.status}`);
    await pause(20);
  }
  waits.sort((a, b) => a - b);
  const [p99Ms, mostMs] = [waits[Math.floor(waits.length * 0.99)], waits.at(-1)];
  console.log(JSON.stringify({ reads: waits.length, p99Ms, mostMs, refused: refused.slice(0, 5) }));
};

const [first, ...rest] = process.argv.slice(2) as [string, string, string, string];
if (first === 'read') await read(rest[0], Number(rest[1]));
else await attack(Number(rest[0]), Number(rest[1]), Number(rest[2]));

/**
 * A server in a network of its own, and readers in a second one that a pair of virtual network cards joins
 * (`runApart`): loopback never fills a send buffer as a network does. Prints the readers whose bytes were
 * lost, by kind of reply and pattern of reading. Arguments: `tcp_wmem`, readers of each.
 *
 * A third argument `patient` is for readers of 64 KiB a second, and of a byte a second; prints which were
 * closed and when, too. With a first argument `read` it is the program of the readers.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Exchange, WireReply } from '../../../http/server/exchange.ts';
import type { OpenPush } from '../../../http/server/push-connection.ts';
import { createHttpServer } from '../../../http/server/uws-server.ts';
import { watchChild } from '../../support/child.ts';
import { raiseIsland } from '../../support/island.ts';
import {
  contentOf,
  type Kind,
  type Pattern,
  patientPatterns,
  patientTimes,
  patterns,
  readSlowly,
  repliesOf,
  replyOf,
  socketOf,
} from './slow-readers.ts';

const long = 1_500_000;
/** Lengths of chunks, events and messages: below, at and above what one write holds. */
const steps = [100, 22_000, 900, 14_000, 16_300, 40_000, 15_000, 61_000];
const close = 'Connection: close\r\n';

const cutUp = (text: string): string[] => {
  const pieces: string[] = [];
  for (let at = 0, step = 0; at < text.length; step++) {
    const length = steps[step % steps.length] as number;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
};

const events = (text: string): string[] => cutUp(text).map((piece) => `data: ${piece}\n\n`);

/** Sends all messages as the socket has room, several in one call, then ends. */
const pushAll =
  (messages: readonly string[]): OpenPush =>
  (connection) => {
    let next = 0;
    const send = (): void => {
      let hasRoom = true;
      connection.cork(() => {
        while (hasRoom && next < messages.length) hasRoom = connection.send(messages[next++] as string);
      });
      if (hasRoom && next === messages.length) connection.end(1_000, '');
    };
    setImmediate(send);
    return { onMessage: () => {}, onControl: () => {}, onWritable: send, onClosed: () => {} };
  };

const buildReply = ({ path, socketVersion }: Exchange): WireReply => {
  const [, kind = '', length = '0'] = path.replace('/soon', '').split('/');
  const text = contentOf(kind, Number(length));
  const reply = { status: 200, headers: '', body: null, close: false };
  if (kind === 'text') return { ...reply, body: text };
  if (kind === 'bytes') return { ...reply, body: Buffer.from(text) };
  if (kind === 'error') return { ...reply, status: 404, body: text };
  if (kind === 'closed') return { ...reply, status: 400, body: text, close: true };
  if (kind === 'stream') return { ...reply, stream: streamOf(text) };
  return {
    ...reply,
    headers: '\r\nContent-Type: text/event-stream',
    push: pushAll(socketVersion === '' ? events(text) : cutUp(text)),
  };
};

async function* streamOf(text: string): AsyncGenerator<string> {
  yield* cutUp(text);
}

const handle = (exchange: Exchange): void => {
  const isLater = exchange.path.startsWith('/later');
  const answer = (): void => exchange.send(buildReply(exchange));
  if (isLater || exchange.socketVersion !== '') setImmediate(answer);
  // As the handlers of routes do: the parser has not gone on yet.
  else if (exchange.path.startsWith('/soon')) queueMicrotask(answer);
  else answer();
};

const short = [700, 3_000, 12_000, 300, 15_000, 9_000, 5_000];
const kinds: Readonly<Record<string, Kind>> = {
  text: replyOf(`/text/${long}`, contentOf('text', long), { headers: close }),
  bytes: replyOf(`/bytes/${long}`, contentOf('bytes', long), { headers: close }),
  'closed by the server': replyOf(`/closed/${long}`, contentOf('closed', long)),
  'errors one after the other': replyOf('/error/15900', contentOf('error', 15_900), { rounds: 40 }),
  'texts one after the other': replyOf('/text/40000', contentOf('text', 40_000), { rounds: 20 }),
  stream: replyOf(`/stream/${long}`, contentOf('stream', long)),
  'streams one after the other': replyOf('/stream/300000', contentOf('stream', 300_000), { rounds: 4 }),
  events: replyOf(`/feed/${long}`, events(contentOf('feed', long)).join('')),
  WebSocket: socketOf(`/feed/${long}`, contentOf('feed', long)),
  'requests at once': repliesOf(
    [...short, ...short].map((length) => [`/text/${length}`, contentOf('text', length)] as const),
  ),
  'requests at once, answered soon': repliesOf(
    [...short, ...short].map((length) => [`/soon/text/${length}`, contentOf('text', length)] as const),
  ),
};

const read = async (host: string, port: number, count: number): Promise<void> => {
  const faults: Record<string, string[]> = {};
  let readers = 0;
  for (const [name, kind] of Object.entries(kinds)) {
    if (!name.includes(process.env.KIND ?? '')) continue;
    for (const pattern of Object.keys(patterns) as Pattern[]) {
      const all = await Promise.all(
        Array.from({ length: count }, () => readSlowly([host, port], kind, pattern)),
      );
      readers += count;
      const wrong = all.filter((fault) => fault !== '');
      if (wrong.length > 0) faults[`${name}, ${pattern}`] = [`${wrong.length}`, ...wrong.slice(0, 2)];
    }
  }
  console.log(JSON.stringify({ readers, faults }));
};

/** As large as the list of 5,000 bots, and of 40,000 voters. */
const [listed, voters] = [5_000_000, 1_000_000];
const patientKinds: Readonly<Record<string, Kind>> = {
  text: replyOf(`/text/${listed}`, contentOf('text', listed), { headers: close }),
  bytes: replyOf(`/bytes/${voters}`, contentOf('bytes', voters)),
  stream: replyOf(`/stream/${voters}`, contentOf('stream', voters)),
};

const dropMsMax = 90_000;

/** All at once: each takes a minute and more. The lists of all readers are less than an address may hold. */
const readPatiently = async (host: string, port: number): Promise<void> => {
  const faults: string[] = [];
  const one = async ([name, kind]: [string, Kind], pattern: Pattern): Promise<void> => {
    const fault = await readSlowly([host, port], kind, pattern, patientTimes);
    if (fault !== '') faults.push(`${name}, ${pattern}: ${fault}`);
  };
  const all = Object.entries(patientKinds).flatMap((kind) =>
    Object.keys(patientPatterns).map((pattern) => one(kind, pattern as Pattern)),
  );
  // These do not see that they are closed, for what the system has for them.
  const drops = [patientKinds.bytes, patientKinds.stream].map((kind) =>
    readSlowly([host, port], kind as Kind, 'a byte a second', { ...patientTimes, readMsMax: dropMsMax }),
  );
  await Promise.all([...all, ...drops]);
  console.log(JSON.stringify({ readers: all.length, drops: drops.length, faults }));
};

const serve = async (wmem: string, count: string, mode = 'read'): Promise<void> => {
  const island = await raiseIsland();
  if (wmem !== '') writeFileSync('/proc/sys/net/ipv4/tcp_wmem', wmem);
  const cuts: { reason: string; ms: number }[] = [];
  const server = createHttpServer({
    handle,
    readAddress: ({ headers }) => headers.forwardedFor,
    onCut: (reason) => cuts.push({ reason, ms: Math.round(performance.now() - begunMs) }),
    phase: { leaving: false, draining: false },
    shared: false,
    requestIdPrefix: 'a',
    sockets: { path: '/feed/*', protocol: 'rollcall.v1' },
  });
  const port = await server.listen(island.safeHere, 0);
  const program = fileURLToPath(import.meta.url);
  const [command = '', ...words] = [...island.through, process.execPath, ...process.execArgv, program];
  const begunMs = performance.now();
  const child = spawn(command, [...words, mode, island.safeHere, String(port), count]);
  const { code, output } = await watchChild(child).ended;
  island.dispose();
  await server.drain(0);
  if (code !== 0) throw new Error(output);
  console.log(JSON.stringify({ ...JSON.parse(output), cuts }));
};

const [first = '', ...rest] = process.argv.slice(2);
if (first === 'read') await read(rest[0] as string, Number(rest[1]), Number(rest[2]));
else if (first === 'patient') await readPatiently(rest[0] as string, Number(rest[1]));
else await serve(first, rest[0] as string, rest[1]);

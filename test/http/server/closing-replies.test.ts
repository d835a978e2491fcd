/**
 * A large reply that asks the client to close: the client can read all of it, also when the socket was full
 * as the end of it was written.
 */
import { connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { unsentReplies } from '../../../http/server/uws-exchange.ts';
import { createHttpServer } from '../../../http/server/uws-server.ts';
import { until } from '../../support/until.ts';

const test = suite('replies that close');
let answered = 0;
const server = createHttpServer({
  handle: (exchange) => {
    const body = Buffer.alloc(Number(exchange.path.slice(1)), 'x');
    exchange.send({ status: 400, headers: '', body, close: true });
    setImmediate(() => setImmediate(() => answered++));
  },
  phase: { leaving: false, draining: false },
  shared: false,
  requestIdPrefix: 'a',
});
const port = await server.listen('127.0.0.1', 0);
test.after(() => server.drain(0));

/** Requests so many bytes and reads none. Resolves when the system has taken what it takes. */
const request = async (length: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1').pause();
  const before = answered;
  socket.write(`GET /${length} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until('it is answered', () => answered > before);
  return socket;
};

/** Reads until the body is whole or the connection closes. */
const readAll = async (socket: Socket, length: number) => {
  let [head, bytes, isClosed] = ['', 0, false];
  socket.on('close', () => {
    isClosed = true;
  });
  socket.on('data', (chunk: Buffer) => {
    const end = head === '' ? chunk.indexOf('\r\n\r\n') + 4 : 0;
    head ||= chunk.toString('latin1', 0, end);
    bytes += chunk.length - end;
  });
  socket.resume();
  await until('it ends', () => bytes === length || isClosed);
  socket.destroy();
  return { bytes, asksToClose: head.includes('\r\nConnection: close\r\n') };
};

const long = 16_000_000;
/** What waits counts as so much at least, and the library's own buffer has as much. */
const leastBytes = 16_384;

test('the last bytes arrive, though the socket was full when they were written', async () => {
  const first = await request(long);
  const taken = long - unsentReplies.bytes;
  assert.equal(await readAll(first, long), { bytes: long, asksToClose: true });

  let found = 0;
  for (let length = taken + 40_000; found < 3 && length > taken - 200_000; length -= 4_000) {
    const socket = await request(length);
    if (unsentReplies.bytes === leastBytes) found += 1;
    unsentReplies.retry(performance.now());
    assert.equal(await readAll(socket, length), { bytes: length, asksToClose: true });
  }
  assert.ok(found > 0, 'the end of one waited');
});

test.run();

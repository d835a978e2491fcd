/**
 * Idle connections: a reply says how long its connection stays open, and the server waits longer than that;
 * or that the connection closes, also when the client requested it.
 */
import { request as send } from 'node:http';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { raw, untilClosed } from '../raw.ts';
import { openWorld } from '../world.ts';

const test = suite('idle connections');
const world = await openWorld();
test.after(() => world.close());

const readSeconds = (head: string): number => Number(/\r\nKeep-Alive: timeout=(\d+)\r\n/.exec(head)?.[1]);

test('a connection that is idle outlives what its reply said, by a second at least', async () => {
  const socket = connect(world.port, '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const head = await new Promise<string>((resolve) => {
    socket.once('data', (chunk) => resolve(chunk.toString('latin1')));
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  });
  const repliedMs = performance.now();
  await closed;

  const openSeconds = (performance.now() - repliedMs) / 1_000;
  assert.ok(openSeconds >= readSeconds(head) + 1, `${openSeconds} s`);
});

test('errors, 304 and HEAD say so, too; a reply that closes its connection does not', async () => {
  const requests: readonly [string, boolean][] = [
    ['GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n', true],
    ['GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n', true],
    ['HEAD / HTTP/1.1\r\nHost: a\r\n\r\n', true],
    ['GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n', false],
  ];
  for (const [request, stays] of requests) {
    const { text } = await raw(world.port, request);
    assert.is(readSeconds(text) > 0, stays, `${request}: ${text}`);
  }
});

test('a reply to a request that asks to close says that it does, once', async () => {
  for (const lines of [
    'Connection: close',
    'connection: Close',
    'Connection: TE, close',
    'Connection: Close,Keep-Alive',
    'Connection: keep-alive\r\nConnection: close',
    'Connection: close\r\nConnection: TE',
    'Connection: TE, close\r\nConnection: keep-alive',
    'Connection:\r\nConnection: close',
  ]) {
    const { text, closed } = await raw(
      world.port,
      `GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`,
      untilClosed,
    );

    assert.ok(closed, lines);
    assert.is(text.match(/\r\nConnection: close\r\n/g)?.length, 1, text);
    assert.not.match(text, /Keep-Alive/);
  }
});

test('a faulty request that asks to close gets it once, too', async () => {
  const bytes = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: gzip\r\n\r\n';

  const { text } = await raw(world.port, bytes, untilClosed);

  assert.is(text.match(/\r\nConnection: close\r\n/g)?.length, 1, text);
});

/** Its agent uses a connection again unless the reply says that it closes, whatever the request said. */
test("Node's own agent sends no request into a connection that its last one asked to close", async () => {
  const ask = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { port: world.port, headers: { connection: 'close' } };
      const sent = send(options, (reply) => {
        reply.resume().once('end', () => resolve(reply.statusCode));
      });
      sent.once('error', reject).end();
    });

  for (let count = 0; count < 20; count++) assert.is(await ask(), 200);
});

test.run();

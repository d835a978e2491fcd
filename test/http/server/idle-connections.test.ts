/**
 * Idle connections: a reply says how long its connection stays open, and the server waits longer than that.
 */
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { raw } from '../raw.ts';
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

test.run();

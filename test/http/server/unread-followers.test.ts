/**
 * Followers that do not read: what waits for them is in the sums of all unread bytes until they read it, and
 * one that takes too little is closed, as with every other reply.
 */
import { connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PushConnection } from '../../../http/server/push-connection.ts';
import { unsentReplies } from '../../../http/server/uws-exchange.ts';
import { createHttpServer } from '../../../http/server/uws-server.ts';
import { until } from '../../support/until.ts';

const test = suite('followers that do not read');

interface Follower {
  readonly push: PushConnection;
  /** It had room again. */
  hadRoom: boolean;
  isClosed: boolean;
}
let newest: Follower | null = null;
const cuts: object[] = [];

const server = createHttpServer({
  handle: (exchange) =>
    exchange.send({
      status: 200,
      headers: '',
      body: null,
      close: false,
      push: (push) => {
        const follower = { push, hadRoom: false, isClosed: false };
        newest = follower;
        return {
          onMessage: () => {},
          onControl: () => {},
          onWritable: () => {
            follower.hadRoom = true;
          },
          onClosed: () => {
            follower.isClosed = true;
          },
        };
      },
    }),
  onCut: (reason, { client }) => cuts.push({ reason, client }),
  readAddress: ({ headers }) => headers.forwardedFor,
  phase: { leaving: false, draining: false },
  shared: false,
  requestIdPrefix: 'a',
  sockets: { path: '/*', protocol: 'a' },
});
const port = await server.listen('127.0.0.1', 0);
test.after(() => server.drain(0));
test.before.each(() => {
  newest = null;
  cuts.length = 0;
});

const upgrade =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const kinds = { 'a stream of events': '', 'a WebSocket': upgrade };

/** Opens a connection that reads nothing. */
const follow = async (head: string): Promise<[Socket, Follower]> => {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write(`GET /feed HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.1\r\n${head}\r\n`);
  await until('it is open', async () => newest !== null);
  return [socket, newest as unknown as Follower];
};

const leave = async (socket: Socket, follower: Follower): Promise<void> => {
  socket.resetAndDestroy();
  await until('it is closed', async () => follower.isClosed);
  assert.is(unsentReplies.bytes, 0);
};

const message = `data: ${'x'.repeat(8_000)}\n\n`;
/** Sends until the socket is full. */
const fill = ({ push }: Follower): void => {
  while (push.send(message));
};

for (const [name, head] of Object.entries(kinds)) {
  test(`${name}: what waits is counted until the client has read it`, async () => {
    const [socket, follower] = await follow(head);
    fill(follower);
    const waiting = unsentReplies.bytes;
    follower.push.send(message);
    const again = unsentReplies.bytes;
    socket.resume();
    await until('nothing waits', async () => follower.hadRoom && unsentReplies.bytes === 0);
    await leave(socket, follower);

    assert.ok(waiting >= 16_384, `${waiting} bytes`);
    assert.is(again, waiting, 'one is counted once');
    assert.equal(cuts, []);
  });

  test(`${name}: one that takes nothing for a minute is closed, and reported`, async () => {
    const [socket, follower] = await follow(head);
    fill(follower);
    const nowMs = performance.now();
    unsentReplies.retry(nowMs + 58_000);
    const before = follower.isClosed;
    unsentReplies.retry(nowMs + 62_000);

    assert.equal([before, follower.isClosed], [false, true]);
    assert.equal(cuts, [{ reason: 'slow', client: '10.0.0.1' }]);
    await leave(socket, follower);
  });

  test(`${name}: one that leaves is not counted any more`, async () => {
    const [socket, follower] = await follow(head);
    fill(follower);
    assert.ok(unsentReplies.bytes > 0);

    await leave(socket, follower);
  });
}

test('a WebSocket that sends pings and reads no answer is counted by them', async () => {
  const [socket, follower] = await follow(upgrade);
  const ping = Buffer.concat([Buffer.from([0x89, 0xfd, 0, 0, 0, 0]), Buffer.alloc(125)]);
  const many = Buffer.concat(Array.from({ length: 500 }, () => ping));
  await until('pongs wait', async () => {
    socket.write(many);
    return unsentReplies.bytes > 0;
  });

  await leave(socket, follower);
});

test.run();

/**
 * Frames of WebSockets as no library sends them: in fragments, binary, compressed without agreement, broken.
 * What the protocol allows is understood, everything else ends that one connection.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { deflateRawSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from '../api/world.ts';
import { openStream } from './clients.ts';

const test = suite('frames of WebSockets');
let world: World;

test.before(async () => {
  world = await openWorld();
  await addUser(world.sql, 'robin');
  await addBot(world.sql, 'bot1');
});
test.after(() => world.close());

const opcodes = { more: 0, text: 1, binary: 2, reserved: 3, close: 8, ping: 9, pong: 10 } as const;
interface FrameOptions {
  /** More of the message follows. */
  readonly isOpen?: boolean;
  readonly isCompressed?: boolean;
}

/** One frame of a client: masked, with up to 64 KiB. */
const frame = (opcode: keyof typeof opcodes, data: string | Buffer, options: FrameOptions = {}): Buffer => {
  const payload = Buffer.from(data);
  const first = (options.isOpen ? 0 : 0x80) | (options.isCompressed ? 0x40 : 0) | opcodes[opcode];
  const { length } = payload;
  const head = length < 126 ? [first, 0x80 | length] : [first, 0x80 | 126, length >> 8, length & 0xff];
  const mask = randomBytes(4);
  const masked = payload.map((byte, index) => byte ^ (mask[index % 4] as number));
  return Buffer.concat([Buffer.from(head), mask, masked]);
};

interface RawSocket {
  readonly socket: Socket;
  /** All that came after the upgrade. */
  text(): string;
  isClosed(): boolean;
}

const openRaw = async (extra = ''): Promise<RawSocket> => {
  const socket = connect(world.port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    isClosed = true;
  });
  await once(socket, 'connect');
  socket.write(
    'GET /feed HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${extra}\r\n`,
  );
  await until('the hello', async () => text.includes('"hello"'));
  return { socket, text: () => text, isClosed: () => isClosed };
};

const ping = '{"op":"ping"}';

for (const [title, frames] of [
  ['one frame', [frame('text', ping)]],
  [
    'fragments',
    [
      frame('text', ping.slice(0, 5), { isOpen: true }),
      frame('more', '', { isOpen: true }),
      frame('more', ping.slice(5)),
    ],
  ],
  [
    'fragments around a ping',
    [frame('text', ping.slice(0, 5), { isOpen: true }), frame('ping', 'x'), frame('more', ping.slice(5))],
  ],
  ['bytes one by one', [...frame('text', ping)].map((byte) => Buffer.of(byte))],
] as const) {
  test(`a message in ${title} is understood`, async () => {
    const { socket, text } = await openRaw();
    for (const bytes of frames) {
      socket.write(bytes);
      await pause(1);
    }
    await until('the answer', async () => text().includes('{"event":"pong","data":{}}'));

    socket.destroy();
  });
}

const offer = 'Sec-WebSocket-Extensions: permessage-deflate\r\n';

test('compression is not agreed to', async () => {
  const { socket, text } = await openRaw(offer);

  assert.not.match(text(), /extensions/i);
  socket.destroy();
});

for (const [title, frames] of [
  ['a compressed message', [frame('text', deflateRawSync(ping), { isCompressed: true })]],
  ['a binary message', [frame('binary', ping)]],
  ['text that is not UTF-8', [frame('text', Buffer.of(0xff, 0xfe))]],
  ['an unknown opcode', [frame('reserved', ping)]],
  ['a control frame of 126 bytes', [frame('ping', 'x'.repeat(126))]],
  ['a fragment of nothing', [frame('more', ping)]],
  [
    'a message that is too long in fragments',
    [
      frame('text', ' '.repeat(30_000), { isOpen: true }),
      frame('more', ' '.repeat(30_000), { isOpen: true }),
      frame('more', ' '.repeat(30_000)),
    ],
  ],
  ['a farewell with a code that does not exist', [frame('close', Buffer.of(0, 1))]],
] as const) {
  test(`${title} ends the connection, and no other`, async () => {
    const other = await openStream(`http://127.0.0.1:${world.port}`, 'targets=bot/bot1');
    const { socket, isClosed } = await openRaw(offer);
    for (const bytes of frames) socket.write(bytes);
    await until('the end', async () => isClosed());
    await other.next('totals');

    other.close();
  });
}

for (const opcode of ['ping', 'pong'] as const) {
  test(`more than 20 ${opcode}s in 10 s end the connection with 1008, and no other`, async () => {
    const other = await openRaw();
    const { socket, text, isClosed } = await openRaw();
    socket.write(Buffer.concat(Array.from({ length: 1_000 }, () => frame(opcode, ''))));
    await until('the end', async () => isClosed());
    const pongs = text().split('\x8a\0').length - 1;
    other.socket.write(frame('text', ping));
    await until('the answer', async () => other.text().includes('{"event":"pong","data":{}}'));

    // 1008 in two bytes, then the reason.
    assert.ok(text().endsWith('\x03\xf0too many messages'));
    assert.is(pongs, opcode === 'ping' ? 21 : 0);
    other.socket.destroy();
  });
}

test.run();

/**
 * Many WebSockets that count the messages they get: COUNT connections to FEED_URL, each following CHANNELS of
 * the target of its number, `bot/<FIRST_ID + number % TARGETS>`, each for a visitor of its own. With SOURCE,
 * such as `127.0.1`, they connect from addresses in that network, because finding a free port of one with
 * thousands of connections takes milliseconds.
 *
 * A program of its own, started by the feed command and a test; prints the address of its control listener,
 * which answers with the connections and messages so far. It reads only the heads of frames, so that it costs
 * little beside the server that is measured.
 */
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

const count = Number(process.env.COUNT ?? '1');
const targets = Number(process.env.TARGETS ?? '1');
const first = BigInt(process.env.FIRST_ID ?? '0');
const { hostname, port } = new URL(process.env.FEED_URL ?? '');
const channels = process.env.CHANNELS ?? 'totals';
const source = process.env.SOURCE ?? '';
const connectionsPerSource = 1_000;
const openAtOnce = 64;

const state = { open: 0, messages: 0, closed: 0 };

const toAddress = (number: number): string =>
  `10.${Math.floor(number / 62_500)}.${Math.floor(number / 250) % 250}.${number % 250}`;

const toHead = (number: number): string =>
  `GET /feed?targets=bot/${first + BigInt(number % targets)}&channels=${channels} HTTP/1.1\r\nHost: a\r\n` +
  `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
  `X-Forwarded-For: ${toAddress(number)}\r\n\r\n`;

const wideLength = 126;

const pingOpcode = 9;
/** An empty one, masked by zeros. */
const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

/** Counts the messages of one connection and answers its pings. Returns what takes its bytes. */
const createCounter = (answer: (bytes: Buffer) => void): ((bytes: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0);
  let skip = 0;
  return (chunk) => {
    let at = 0;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    rest = Buffer.alloc(0);
    for (;;) {
      const skipped = Math.min(skip, bytes.length - at);
      at += skipped;
      skip -= skipped;
      if (at >= bytes.length) return;
      const short = (bytes[at + 1] ?? 0) & 127;
      const headBytes = short === wideLength ? 4 : 2;
      if (bytes.length - at < headBytes) {
        rest = bytes.subarray(at);
        return;
      }
      skip = short === wideLength ? bytes.readUInt16BE(at + 2) : short;
      if (((bytes[at] ?? 0) & 15) === pingOpcode) answer(pong);
      else state.messages += 1;
      at += headBytes;
    }
  };
};

const open = (number: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const localAddress =
      source === '' ? undefined : `${source}.${1 + Math.floor(number / connectionsPerSource)}`;
    const socket = connect({ port: Number(port), host: hostname, localAddress });
    const take = createCounter((bytes) => socket.write(bytes));
    let head = '';
    socket.on('error', reject);
    socket.on('close', () => {
      state.closed += 1;
    });
    socket.once('connect', () => socket.write(toHead(number)));
    const takeHead = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) return;
      if (!head.startsWith('HTTP/1.1 101')) {
        reject(new Error(head));
        return;
      }
      socket.off('data', takeHead);
      socket.on('data', take);
      state.open += 1;
      if (head.length > end + 4) take(Buffer.from(head.slice(end + 4), 'latin1'));
      resolve();
    };
    socket.on('data', takeHead);
  });

let next = 0;
const openSome = async (): Promise<void> => {
  while (next < count) await open(next++);
};

const control = createServer((_, response) => response.end(JSON.stringify(state)));
control.listen(0, '127.0.0.1', () => {
  console.log(`Address http://127.0.0.1:${(control.address() as AddressInfo).port}`);
});
await Promise.all(Array.from({ length: Math.min(openAtOnce, count) }, openSome));

process.on('SIGTERM', () => process.exit(0));

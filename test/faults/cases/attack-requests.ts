/**
 * What attackers send: requests as bytes, bodies that are expensive or never end, and frames of WebSockets.
 */
import { type Drip, drip, type Flood, flood, type Harvest, pour, type Target } from './attackers.ts';

/* -------------------------------------------------------------- requests */

interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: string;
  readonly body?: Buffer;
}

export const request = ({ path, method = 'GET', headers = '', body }: Sent): Buffer => {
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}${length}\r\n`);
  return body === undefined ? head : Buffer.concat([head, body]);
};

/** Another client address each time, as a thousand machines have. */
export const from = (number: number): string =>
  `X-Forwarded-For: 10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}\r\n`;

/** Never the same number twice in one attack. */
export const distinct = (index: number, number: number): number => number * 4_096 + index;

type Requests = Flood['request'];
export const simple =
  (requests: (target: Target) => Requests) =>
  (target: Target): Promise<Harvest> =>
    flood(target, [{ port: target.port, connections: target.connections, request: requests(target) }]);

/* ------------------------------------------------------------------ bodies */

export const members = (amount: number, member: (index: number) => string): string =>
  Array.from({ length: amount }, (_, index) => member(index)).join(',');

/** The same body to three operations; every request seems to come from another machine. */
export const costly = (text: () => string) =>
  simple(({ botToken, userToken }) => {
    const body = Buffer.from(text());
    const operations = [
      { method: 'POST', path: '/bots/stats', auth: `Bot-Auth: ${botToken}\r\n` },
      { method: 'PUT', path: '/bots', auth: `User-Auth: ${userToken}\r\n` },
      { method: 'POST', path: '/auth/test', auth: '' },
    ] as const;
    return (index, number) => {
      const { auth, ...operation } = operations[index % operations.length] as (typeof operations)[number];
      return request({ ...operation, headers: auth + from(distinct(index, number)), body });
    };
  });

export const mebi = 2 ** 20;
/** A stats post may be so long; other bodies 1 MiB. */
export const statsBytesMax = 380_000;
/** Some connections send byte by byte, some as much as is allowed in few seconds. None comes to an end. */
export const slowBody = (opening: string, bytes: number): readonly Drip[] => {
  const piece = Buffer.alloc(32_768, ' ');
  const whole = `${opening}Content-Length: ${bytes}\r\n\r\n`;
  return [
    { opening: whole, piece: Buffer.from(' '), everyMs: 500, piecesMax: 1_000 },
    { opening: whole, piece, everyMs: 250, piecesMax: Math.ceil(bytes / piece.length) - 1 },
  ];
};
export const slowBodies = (head: (target: Target) => string) => (target: Target) =>
  drip(target, slowBody(head(target), mebi));

export const head = (line: string, headers = ''): string =>
  `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}`;

/* -------------------------------------------------------------- WebSockets */

/** A frame of a client with up to 64 KiB, masked with zeros. */
export const frame = (opcode: number, text = ''): Buffer => {
  const payload = Buffer.from(text);
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(opcode, ...size, 0, 0, 0, 0), payload]);
};

export const [textFrame, pingFrame] = [0x81, 0x89] as const;
/** The first, a middle and the last frame of one message. */
export const [firstFrame, middleFrame, lastFrame] = [0x01, 0x00, 0x80] as const;

/** WebSockets of twenty machines; each sends the same frames without end. */
export const frames = (build: (index: number) => readonly Buffer[]) => (target: Target) =>
  pour(target, (index) => ({
    opening: head(
      'GET /feed',
      `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${from(index % 20)}\r\n`,
    ),
    write: Buffer.concat(build(index)),
  }));

export const unknownTargets = (index: number, message: number): string => {
  const targets = Array.from(
    { length: 100 },
    (_, each) => `bot/${9e15 + index * 1e6 + message * 1e3 + each}`,
  );
  return JSON.stringify({ op: 'subscribe', targets });
};

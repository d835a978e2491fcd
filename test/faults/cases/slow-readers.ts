/**
 * Readers of replies in a network of their own, for http-slow-readers: what each gets is compared byte for
 * byte, by hash, with what the server was to send.
 *
 * Sockets are raw and read at most 4 KiB at a time, so that a pause of the reader reaches the server.
 */
import { hash } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** When a reader takes the bytes. */
export const patterns = {
  'at once': () => 0,
  /** Once for long, near the beginning. */
  pausing: (bytes: number) => (bytes < 4_096 * 2 ? 300 : 0),
  dripping: (bytes: number) => (Math.floor(bytes / 65_536) % 4 === 0 ? 1 : 0),
  'in bursts': (bytes: number) => (bytes % 262_144 < 4_096 ? 60 : 0),
} as const;

/** 64 KiB a second, which is slow and honest. */
export const patientPatterns = {
  '64 KiB a second': () => 62,
  '64 KiB at once each second': (bytes: number) => (bytes % 65_536 < 4_096 ? 1_000 : 0),
} as const;
const drop = { 'a byte a second': () => 1_000 } as const;
const allPatterns = { ...patterns, ...patientPatterns, ...drop };
export type Pattern = keyof typeof allPatterns;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-';
const contents = new Map<string, string>();

/** Text of this length that repeats nowhere for long; the same for the same name. */
export const contentOf = (name: string, length: number): string => {
  const key = `${name} ${length}`;
  let text = contents.get(key);
  if (text === undefined) {
    let state = Number.parseInt(hash('sha1', name).slice(0, 7), 16) | 1;
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      bytes[at] = alphabet.charCodeAt(state >>> 26);
    }
    text = bytes.toString('latin1');
    contents.set(key, text);
  }
  return text;
};

/** What a reader requests, and what shows that it got it. */
export interface Kind {
  /** Requests that are sent at once. */
  readonly paths: readonly string[];
  readonly headers?: string;
  /** Requests on one connection, each after the reply to the one before. */
  readonly rounds?: number;
  /** Whether this is all that was to come; `null` while it is not yet clear. Throws when it is broken. */
  judge(received: Buffer, closed: boolean): boolean | null;
}

/** Readers so far: each has an address of its own, for together they leave more than one may. */
let readers = 0;

const buildRequests = ({ paths, headers = '' }: Kind): string => {
  readers += 1;
  const lines = `Host: a\r\nX-Forwarded-For: ${readers}\r\n${headers}`;
  return paths.map((path) => `GET ${path} HTTP/1.1\r\n${lines}\r\n`).join('');
};

/** How long a reader waits for all, and how often it looks whether that came: it then copies everything. */
const usualTimes = { readMsMax: 30_000, judgeMs: 20 };
export const patientTimes = { readMsMax: 180_000, judgeMs: 2_000 };

interface Reading {
  readonly socket: Socket;
  readonly requests: string;
  readonly parts: Buffer[];
  bytes: number;
  round: number;
}

/** Resolves to `''`, or to what is wrong with what came. */
export const readSlowly = (
  address: [string, number],
  kind: Kind,
  pattern: Pattern,
  { readMsMax, judgeMs } = usualTimes,
): Promise<string> =>
  new Promise((resolve) => {
    const buffer = Buffer.allocUnsafe(pattern in drop ? 1 : 4_096);
    const callback = (count: number): boolean => {
      reading.parts.push(Buffer.from(buffer.subarray(0, count)));
      reading.bytes += count;
      judging ??= setTimeout(judge, judgeMs, false);
      const waitMs = allPatterns[pattern](reading.bytes);
      if (waitMs > 0) setTimeout(() => socket.resume(), waitMs);
      return waitMs === 0;
    };
    const onread = { buffer, callback };
    const socket = connect({ host: address[0], port: address[1], onread });
    const reading: Reading = { socket, requests: buildRequests(kind), parts: [], bytes: 0, round: 1 };
    const end = (fault: string): void => {
      clearTimeout(timer);
      clearTimeout(judging ?? undefined);
      socket.destroy();
      resolve(fault);
    };
    const timer = setTimeout(() => end(`not whole after ${readMsMax} ms: ${reading.bytes} bytes`), readMsMax);
    let judging: NodeJS.Timeout | null = null;
    const judge = (closed: boolean): void => {
      judging = null;
      try {
        const whole = kind.judge(Buffer.concat(reading.parts), closed);
        if (whole === null && !closed) return;
        if (whole !== true) end(`cut off after ${reading.bytes} bytes`);
        else if (reading.round >= (kind.rounds ?? 1)) end('');
        else startRound(reading);
      } catch (error) {
        end((error as Error).message);
      }
    };
    socket.on('error', () => judge(true));
    socket.on('close', () => judge(true));
    socket.write(reading.requests);
  });

const startRound = (reading: Reading): void => {
  reading.round += 1;
  reading.parts.length = 0;
  reading.bytes = 0;
  reading.socket.write(reading.requests);
};

interface Parsed {
  readonly head: string;
  readonly body: Buffer;
  readonly end: number;
}

/** Parses the reply that begins at `at`; `null` while it is not complete. */
const parseReply = (bytes: Buffer, at: number): Parsed | null => {
  const headEnd = bytes.indexOf('\r\n\r\n', at);
  if (headEnd === -1) return null;
  const head = bytes.toString('latin1', at, headEnd);
  if (!head.startsWith('HTTP/1.1 ')) throw new Error(`no status line: ${head.slice(0, 40)}`);
  const start = headEnd + 4;
  if (/\r\nTransfer-Encoding: chunked/i.test(head)) return parseChunks(bytes, start, head);
  const length = Number(/\r\nContent-Length: ([0-9]+)/i.exec(head)?.[1] ?? 0);
  if (bytes.length < start + length) return null;
  return { head, body: bytes.subarray(start, start + length), end: start + length };
};

const parseChunks = (bytes: Buffer, start: number, head: string): Parsed | null => {
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    const line = bytes.toString('latin1', at, Math.min(lineEnd, at + 20));
    if (!/^[0-9A-Fa-f]{1,8}$/.test(line)) throw new Error(`no chunk size: ${line}`);
    const length = Number.parseInt(line, 16);
    const next = lineEnd + 2 + length + 2;
    if (bytes.length < next) return null;
    if (bytes.toString('latin1', next - 2, next) !== '\r\n') throw new Error('a chunk ends elsewhere');
    if (length === 0) return { head, body: Buffer.concat(chunks), end: next };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = next;
  }
};

/** Server-sent events without what has no meaning in them: comments and further blank lines. */
const plainEvents = (body: Buffer): Buffer =>
  Buffer.from(
    body
      .toString('latin1')
      .replaceAll(/^:\n\n/gm, '')
      .replaceAll(/\n{2,}/g, '\n\n'),
    'latin1',
  );

const isSame = (body: Buffer, expected: string): boolean => hash('sha1', body) === hash('sha1', expected);

/** One reply with this body. */
export const replyOf = (path: string, expected: string, rest: Partial<Kind> = {}): Kind => ({
  paths: [path],
  ...rest,
  judge: (received) => {
    const reply = parseReply(received, 0);
    if (reply === null) return null;
    const isStream = reply.head.includes('event-stream');
    if (!isSame(isStream ? plainEvents(reply.body) : reply.body, expected))
      throw new Error(`another body of ${reply.body.length} bytes`);
    return reply.end === received.length;
  },
});

/**
 * Replies to requests that were sent at once: those that came are right and in order. The connection may
 * close before the last.
 */
export const repliesOf = (wanted: readonly (readonly [path: string, body: string])[]): Kind => ({
  paths: wanted.map(([path]) => path),
  judge: (received, closed) => {
    let at = 0;
    for (const [path, expected] of wanted) {
      const reply = parseReply(received, at);
      if (reply === null) return closed ? true : null;
      if (!isSame(reply.body, expected)) throw new Error(`${path} has another body`);
      at = reply.end;
    }
    return true;
  },
});

const upgrade =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** A WebSocket that gets these texts together, then is closed. */
export const socketOf = (path: string, expected: string): Kind => ({
  paths: [path],
  headers: upgrade,
  judge: (received) => {
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const texts: Buffer[] = [];
    for (let at = headEnd + 4; at + 2 <= received.length; ) {
      const short = (received[at + 1] as number) & 0x7f;
      if (short === 127) throw new Error('a frame of more than 64 KiB');
      const headBytes = short < 126 ? 2 : 4;
      const start = at + headBytes;
      if (received.length < start) return null;
      const length = short < 126 ? short : received.readUInt16BE(at + 2);
      if (received.length < start + length) return null;
      const code = received[at];
      if (code === 0x88) {
        if (!isSame(Buffer.concat(texts), expected)) throw new Error('other messages');
        return true;
      }
      if (code === 0x81) texts.push(received.subarray(start, start + length));
      else if (code !== 0x89) throw new Error(`no frame: ${code}`);
      at = start + length;
    }
    return null;
  },
});

/**
 * Clients that keep connections busy: connections without a byte, headers and bodies that arrive byte by
 * byte, replies that are not read. A few of them in test/http/hostile, thousands in test/faults.
 *
 * Every connection opened here is closed by the server, or by `close`.
 */
import { connect, type Socket } from 'node:net';

export interface SlowKind {
  readonly name: string;
  /** Sent at once. */
  readonly opening: string;
  /** Sent every second. */
  readonly drop: string;
  /** Stops reading after the first bytes. */
  readonly deaf?: boolean;
}

const post = 'Host: a\r\nContent-Length: 4000\r\n\r\n';

/** `streamed`: a path whose answer is longer than all buffers on the way; `posted`: one that takes a body. */
export const slowKinds = (streamed: string, posted: string): readonly SlowKind[] => [
  { name: 'silent', opening: '', drop: '' },
  { name: 'headers byte by byte', opening: 'GET / HTTP/1.1\r\nHost: a\r\n', drop: 'X' },
  { name: 'header after header', opening: 'GET / HTTP/1.1\r\nHost: a\r\n', drop: 'X-A: b\r\n' },
  { name: 'body byte by byte', opening: `POST ${posted} HTTP/1.1\r\n${post}`, drop: '1' },
  { name: 'body that is not read', opening: `POST /nothing HTTP/1.1\r\n${post}`, drop: '1' },
  {
    name: 'chunk after chunk',
    opening: `POST ${posted} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`,
    drop: '1\r\n1\r\n',
  },
  {
    name: 'answer not read',
    opening: `GET ${streamed} HTTP/1.1\r\nHost: a\r\n\r\n`,
    drop: '',
    deaf: true,
  },
];

export interface SlowClients {
  /** Connections that the server has not closed yet. */
  open(): number;
  /** Resolves when all are connected. */
  readonly connected: Promise<unknown>;
  close(): void;
}

const quiet = (): void => {};

const openOne = (port: number, kind: SlowKind, ended: () => void): { socket: Socket; up: Promise<void> } => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', quiet);
  if (kind.deaf === true) socket.once('data', () => socket.pause());
  else socket.resume();
  const up = new Promise<void>((resolve) => {
    socket.once('connect', () => {
      if (kind.opening !== '') socket.write(kind.opening);
      resolve();
    });
    socket.once('close', () => {
      ended();
      resolve();
    });
  });
  return { socket, up };
};

/** Opens `count` connections of each kind. */
export const openSlowClients = (port: number, kinds: readonly SlowKind[], count: number): SlowClients => {
  let open = count * kinds.length;
  const ended = (): void => {
    open -= 1;
  };
  const all = kinds.flatMap((kind) =>
    Array.from({ length: count }, () => ({ kind, ...openOne(port, kind, ended) })),
  );
  const timer = setInterval(() => {
    for (const { socket, kind } of all) if (kind.drop !== '' && socket.writable) socket.write(kind.drop);
  }, 1_000);
  return {
    open: () => open,
    connected: Promise.all(all.map(({ up }) => up)),
    close: () => {
      clearInterval(timer);
      for (const { socket } of all) socket.destroy();
    },
  };
};

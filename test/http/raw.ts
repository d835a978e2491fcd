/**
 * Sends raw bytes to a server through a socket, and parses its HTTP replies.
 *
 * It uses no client library: a library would repair the malformed requests that these tests need.
 */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly text: string;
  readonly closed: boolean;
}

/**
 * Writes raw bytes to a new connection and reads until it closes or `until` returns true, but for at most
 * `waitMs`.
 */
export const raw = (
  port: number,
  bytes: string | readonly string[],
  until: (text: string) => boolean = (text) => answersIn(text).length > 0,
  waitMs = 1_500,
): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let closed = false;
    const timer = setTimeout(() => socket.destroy(), waitMs);
    const finish = (): void => {
      clearTimeout(timer);
      resolve({ text, closed });
      socket.destroy();
    };
    socket.on('error', () => finish());
    socket.on('end', () => {
      closed = true;
    });
    socket.on('close', finish);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (until(text)) finish();
    });
    for (const part of [bytes].flat()) socket.write(Buffer.from(part, 'latin1'));
  });

/** Opens a connection and collects what comes from it; its errors are ignored. */
export const openSocket = (port: number): { readonly socket: Socket; text(): string } => {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  return { socket, text: () => text };
};

/** For `until`: reads until the server closes the connection or the wait is over. */
export const untilClosed = (): boolean => false;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Parses the complete replies in the text of a connection (Content-Length framing). */
export const answersIn = (text: string): Answer[] => {
  const answers: Answer[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return answers;
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((each) => [
        each.slice(0, each.indexOf(':')).toLowerCase(),
        each.slice(each.indexOf(':') + 2),
      ]),
    );
    const length = Number(headers['content-length'] ?? 0);
    if (rest.length < end + 4 + length) return answers;
    answers.push({
      status: Number(line.split(' ')[1]),
      headers,
      body: rest.slice(end + 4, end + 4 + length),
    });
    rest = rest.slice(end + 4 + length);
  }
};

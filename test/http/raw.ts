/**
 * Bytes to a server and back: a raw socket, and a reader of plain HTTP answers.
 *
 * Client libraries repair what the tests of the server want to break, hence no library here.
 */
import { connect } from 'node:net';

export interface RawAnswer {
  readonly text: string;
  readonly closed: boolean;
}

/**
 * Writes raw bytes on a new connection and reads until it closes, until `until` says that it is enough, or
 * for `waitMs` at most.
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
    const settle = (): void => {
      clearTimeout(timer);
      resolve({ text, closed });
      socket.destroy();
    };
    socket.on('error', () => settle());
    socket.on('end', () => {
      closed = true;
    });
    socket.on('close', settle);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (until(text)) settle();
    });
    for (const part of [bytes].flat()) socket.write(Buffer.from(part, 'latin1'));
  });

/** Reads until the server closes the connection (or the wait is over). */
export const untilClosed = (): boolean => false;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The complete answers in what a connection sent (Content-Length framing). */
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

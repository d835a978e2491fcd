/**
 * Clients of the feed for tests: a stream of server-sent events and a WebSocket, on real sockets, both with
 * the messages they got in order and a way to wait for the next one that fits. Every message must be as the
 * published document says, else the waiting fails.
 */
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { findFeedFault } from '../published.ts';

export interface Message {
  readonly event: string;
  readonly data: ReturnType<typeof JSON.parse>;
  /** `''` where it has none. */
  readonly id: string;
  readonly retryMs: number | null;
}

export interface FeedClient {
  readonly messages: readonly Message[];
  /** Resolves to the first message, from `from` on, that fits. Rejects after 10 s. */
  find(fits: (message: Message) => boolean, from?: number): Promise<Message>;
  /** The next message of this event. */
  next(event: string): Promise<Message>;
  /** Resolves when the connection has ended, to the status code of a WebSocket. */
  readonly closed: Promise<number>;
  close(): void;
}

const waitMsMax = 10_000;

interface Log {
  readonly messages: Message[];
  add(message: Message): void;
  /** Fails the next waiting; `''` for no fault. */
  note(fault: string): void;
  find: FeedClient['find'];
  next: FeedClient['next'];
}

const createLog = (): Log => {
  const messages: Message[] = [];
  const waiters = new Set<() => void>();
  let taken = 0;
  let fault = '';
  const find: FeedClient['find'] = async (fits, from = 0) => {
    const endMs = performance.now() + waitMsMax;
    for (;;) {
      if (fault !== '') throw new Error(fault);
      const index = messages.findIndex((message, position) => position >= from && fits(message));
      if (index !== -1) {
        taken = Math.max(taken, index + 1);
        return messages[index] as Message;
      }
      if (performance.now() > endMs)
        throw new Error(`no such message; got ${JSON.stringify(messages.slice(-5))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        waiters.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  };
  return {
    messages,
    note: (found) => {
      fault ||= found;
    },
    add: (message) => {
      messages.push(message);
      fault ||= findFeedFault('event', { event: message.event, data: message.data });
      for (const wake of waiters) wake();
      waiters.clear();
    },
    find,
    next: (event) => find((message) => message.event === event, taken),
  };
};

/** Parses one event of a stream; `null` for a comment. */
export const parseEvent = (text: string): Message | null => {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const event = fields.get('event');
  if (event === undefined) return null;
  const retry = fields.get('retry');
  return {
    event,
    data: JSON.parse(fields.get('data') ?? 'null'),
    id: fields.get('id') ?? '',
    retryMs: retry === undefined ? null : Number(retry),
  };
};

export class Refused extends Error {
  readonly status: number;
  readonly json: ReturnType<typeof JSON.parse>;

  constructor(status: number, text: string) {
    super(`${status} ${text}`);
    this.status = status;
    this.json = JSON.parse(text);
  }
}

const readText = async (response: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return text;
};

/** Opens a stream of server-sent events. Rejects with `Refused`. */
export const openStream = async (
  base: string,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FeedClient & { readonly response: IncomingMessage }> => {
  const request: ClientRequest = get(`${base}/feed?${query}`, { headers, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Refused(response.statusCode ?? 0, await readText(response));
  const log = createLog();
  let rest = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop() ?? '';
    for (const message of events.map(parseEvent)) if (message !== null) log.add(message);
  });
  const closed = new Promise<number>((resolve) => response.once('close', () => resolve(0)));
  response.on('error', () => {
    // The test closed it.
  });
  return { ...log, response, closed, close: () => request.destroy() };
};

/** Opens a WebSocket. Rejects when the upgrade is refused. */
export const openSocket = async (
  base: string,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<FeedClient & { readonly socket: WebSocket; send(message: unknown): void }> => {
  const address = `${base.replace('http', 'ws')}/feed${query === '' ? '' : `?${query}`}`;
  // Node's WebSocket takes headers, those of browsers do not.
  const init = { protocols: ['rollcall.v1'], headers };
  const socket = new WebSocket(address, init as unknown as string[]);
  const log = createLog();
  socket.addEventListener('message', ({ data }) =>
    log.add({ id: '', retryMs: null, ...JSON.parse(String(data)) }),
  );
  const closed = new Promise<number>((resolve) =>
    socket.addEventListener('close', ({ code }) => resolve(code)),
  );
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('the upgrade was refused')));
  });
  return {
    ...log,
    socket,
    closed,
    send: (message) => {
      if (typeof message === 'object') log.note(findFeedFault('op', message as object));
      socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    },
    close: () => socket.close(),
  };
};

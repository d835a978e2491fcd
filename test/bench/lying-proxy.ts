/**
 * A proxy between `prove` and a real server that plants one lie: it drops, repeats or changes what
 * passes. Everything else goes through untouched.
 */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { close, listen } from '../support/loopback.ts';

export interface Call {
  readonly method: string;
  readonly path: string;
  /** The token it carries, '' without one. */
  readonly token: string;
}
interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Each may return `null`: then nothing is changed. */
export interface LiePlan {
  /** Answers without the server. */
  readonly instead?: (call: Call) => Reply | null;
  /** Sends it twice. */
  readonly isRepeated?: (call: Call) => boolean;
  /** Another path to ask. */
  readonly redirect?: (call: Call) => string | null;
  readonly change?: (call: Call, reply: Reply) => Reply | null;
  /** Leaves an event of the feed out. */
  readonly swallow?: (event: string) => boolean;
}

export interface LyingProxy {
  readonly url: string;
  close(): Promise<void>;
}

const readAll = async (stream: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const forward = (
  target: URL,
  { method, headers }: IncomingMessage,
  { path, body }: { readonly path: string; readonly body: Buffer },
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { host: _host, connection: _connection, ...rest } = headers;
    const { hostname, port } = target;
    const sent = send({ hostname, port, path, method, headers: { ...rest, connection: 'close' } }, resolve);
    sent.on('error', reject);
    sent.end(body);
  });

/** Passes an event stream on, block by block. */
const passEvents = async (plan: LiePlan, from: IncomingMessage, to: ServerResponse): Promise<void> => {
  to.writeHead(from.statusCode ?? 0, { 'Content-Type': 'text/event-stream' });
  to.on('close', () => from.destroy());
  let text = '';
  for await (const chunk of from) {
    const blocks = (text + String(chunk)).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) if (!plan.swallow?.(block)) to.write(`${block}\n\n`);
  }
  to.end();
};

const pass = async (
  plan: LiePlan,
  target: URL,
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
): Promise<void> => {
  const { method = 'GET', url: path = '/', headers } = incoming;
  const body = await readAll(incoming);
  const call = { method, path, token: String(headers['bot-auth'] ?? headers['user-auth'] ?? '') };
  const instead = plan.instead?.(call) ?? null;
  if (instead !== null) {
    outgoing.writeHead(instead.status).end(instead.text);
    return;
  }
  if (plan.isRepeated?.(call)) (await forward(target, incoming, { path, body })).resume();
  const reply = await forward(target, incoming, { path: plan.redirect?.(call) ?? path, body });
  if (String(reply.headers['content-type']).includes('event-stream')) {
    await passEvents(plan, reply, outgoing).catch(() => outgoing.destroy());
    return;
  }
  const shown = { status: reply.statusCode ?? 0, text: (await readAll(reply)).toString() };
  const { status, text } = plan.change?.(call, shown) ?? shown;
  outgoing.writeHead(status, status === 204 ? {} : { 'Content-Type': 'application/json' }).end(text);
};

/** Opens one before a server. A connection that breaks behind it breaks before it. */
export const openLyingProxy = async (url: string, plan: LiePlan): Promise<LyingProxy> => {
  const target = new URL(url);
  const server = createServer((incoming, outgoing) => {
    pass(plan, target, { incoming, outgoing }).catch(() => outgoing.destroy());
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => close(server),
  };
};

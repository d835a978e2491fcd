/**
 * A plain HTTP client with persistent connections. It distinguishes three outcomes for fault tests: an
 * answer, a request that certainly was not sent, and an unknown outcome.
 *
 * Never repeats a request.
 */
import { Agent, request as send } from 'node:http';
import { request as sendSecurely, Agent as TlsAgent } from 'node:https';

export interface ClientRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** No answer. `sent` is false when the connection was refused: the server never saw the request. */
export class NoAnswer extends Error {
  readonly sent: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause });
    this.name = 'NoAnswer';
    this.sent = cause.code !== 'ECONNREFUSED';
  }
}

const answerMsMax = 15_000;

/** A client with at most so many connections. */
export const createClient = (connections: number) => {
  const options = { keepAlive: true, maxSockets: connections, scheduling: 'fifo' } as const;
  const agents = { http: new Agent(options), https: new TlsAgent(options) };
  return {
    /** Rejects with `NoAnswer`. */
    ask: (url: string, given: ClientRequest = {}) =>
      new Promise<Answer>((resolve, reject) => {
        const fail = (error: NodeJS.ErrnoException): void => reject(new NoAnswer(error));
        const isTls = url.startsWith('https:');
        const outgoing = (isTls ? sendSecurely : send)(
          url,
          {
            agent: isTls ? agents.https : agents.http,
            method: given.method ?? 'GET',
            headers: given.headers,
          },
          (reply) => {
            const chunks: Buffer[] = [];
            reply.on('data', (chunk: Buffer) => chunks.push(chunk));
            reply.on('error', fail);
            reply.on('end', () => {
              const text = Buffer.concat(chunks).toString();
              resolve({ status: reply.statusCode ?? 0, text, headers: reply.headers });
            });
          },
        );
        outgoing.setTimeout(answerMsMax, () => outgoing.destroy(new Error(`no answer in ${answerMsMax} ms`)));
        outgoing.on('error', fail);
        outgoing.end(given.body);
      }),
    close: (): void => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
};
export type Client = ReturnType<typeof createClient>;

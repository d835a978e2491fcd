/**
 * Receivers of webhooks on loopback over TLS, good and bad: a server answers by the first segment of the
 * path, and a few more servers have a certificate or a protocol that no sender may accept.
 *
 * The certificates come from an authority made for the test, so a sender has to trust `ca`, and a node has to
 * be started with `NODE_EXTRA_CA_CERTS`. Closed by the test that opened it.
 */
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import selfsigned from 'selfsigned';
import { makeFolder } from './folder.ts';
import { close, listen } from './loopback.ts';

/** A sender that has read enough, or refuses the connection, resets it. */
const ignore = (): void => undefined;

type Answer = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

const answers = {
  ok: (response) => void response.end('thank you'),
  no_content: (response) => void response.writeHead(204).end(),
  broken: (response) => void response.writeHead(500).end('out of order'),
  moved: (response, { headers }) =>
    void response.writeHead(301, { location: `https://${headers.host}/inside` }).end(),
  gone: (response) => void response.writeHead(410).end(),
  throttled: (response) => void response.writeHead(429, { 'retry-after': '120' }).end(),
  silent: () => undefined,
  half: (response) => void response.writeHead(200).write('begun'),
  half_broken: (response) => void response.writeHead(500).write('begun'),
  trickle: async (response) => {
    for (response.writeHead(200); !response.destroyed; await pause(10)) response.write('.');
  },
  slow_headers: async ({ socket }) => {
    for (const letter of `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000)}`) {
      if (socket?.destroyed !== false) return;
      socket.write(letter);
      await pause(10);
    }
  },
  reset: ({ socket }) => void socket?.destroy(),
  huge: (response) =>
    pipeline(Readable.from(Array(80).fill(Buffer.alloc(65_536, 'x'))), response).catch(ignore),
  not_text: (response) => void response.end(Buffer.concat([Buffer.alloc(10), Buffer.alloc(2_000, 0xff)])),
  many_headers: (response) => void response.setHeader('x', 'y'.repeat(100_000)).end(),
  switched: ({ socket }) =>
    void socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
  not_http: ({ socket }) => void socket?.end('220 mail.example.org ESMTP\r\n'),
} satisfies Record<string, Answer>;

export type Behaviour = keyof typeof answers;
/** Servers of their own. `dead` is a port where none listens; `no_handshake` accepts and never speaks. */
export type Place = 'wrong_host' | 'untrusted' | 'expired' | 'plain_http' | 'no_handshake' | 'dead';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** By the clock of `performance.now()`. */
  readonly atMs: number;
}
export interface WebhookReceivers {
  /** The certificate authority to trust, and a file with it. */
  readonly ca: string;
  readonly caFile: string;
  readonly port: number;
  /** The address of a receiver that behaves like this; `rest` tells receivers apart. */
  url(name: Behaviour | Place, rest?: string): string;
  /** Requests to the server of all behaviours, in order of their arrival. */
  readonly received: readonly ReceivedWebhook[];
  /** Each answer waits for this task from now on. */
  beforeAnswer(task: () => void | Promise<void>): void;
  /** How many answers are with the system, on their way. */
  answered(): number;
  /** Connections to that server so far. */
  connections(): number;
  /** Receivers of one behaviour have another one from now on; their own again with `change(name, name)`. */
  change(name: Behaviour, next: Behaviour): void;
  /** Ends the connections that wait for a request. */
  closeIdle(): void;
  close(): Promise<void>;
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}
interface CertificateRequest {
  readonly name: string;
  readonly issuer?: Certificate;
  /** Addresses beside the name; those of loopback for `localhost`. */
  readonly addresses?: readonly string[];
  readonly notAfterDate?: Date;
}

/** A certificate by an authority, or an authority. */
export const issueCertificate = async ({
  name,
  issuer,
  addresses = name === 'localhost' ? ['127.0.0.1', '::1'] : [],
  notAfterDate,
}: CertificateRequest): Promise<Certificate> => {
  const altNames = [{ type: 2 as const, value: name }, ...addresses.map((ip) => ({ type: 7 as const, ip }))];
  const pems = await selfsigned.generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date('2020-01-01'),
    notAfterDate: notAfterDate ?? new Date('2100-01-01'),
    extensions: [
      { name: 'basicConstraints', cA: issuer === undefined },
      { name: 'subjectAltName', altNames },
    ],
    ...(issuer === undefined ? {} : { ca: issuer }),
  });
  return { key: pems.private, cert: pems.cert };
};

/** A new authority, and its certificate for `localhost`, 127.0.0.1 and ::1. */
export const issueCertificates = async (): Promise<{
  readonly authority: Certificate;
  readonly localhost: Certificate;
}> => {
  const authority = await issueCertificate({ name: 'authority of the test' });
  return { authority, localhost: await issueCertificate({ name: 'localhost', issuer: authority }) };
};

/** Starts all of them on free ports of 127.0.0.1, or the main server on another address of loopback. */
export const startWebhookReceivers = async (address = '127.0.0.1', port = 0): Promise<WebhookReceivers> => {
  const { authority, localhost } = await issueCertificates();
  const received: ReceivedWebhook[] = [];
  const changes = new Map<string, Behaviour>();
  let beforeAnswer: () => void | Promise<void> = ignore;
  let answered = 0;
  const servers = await startServers({ authority, localhost }, (request, response) => {
    const [, name = ''] = request.url?.split(/[/?]/) ?? [];
    const behaviour = changes.get(name) ?? name;
    response.once('finish', () => answered++);
    collect(request, received).then(async () => {
      await beforeAnswer();
      const answer: Answer = behaviour in answers ? answers[behaviour as Behaviour] : answers.ok;
      return answer(response, request);
    });
  });
  const { main, places } = servers;
  let connections = 0;
  main.on('connection', () => connections++);
  const mainPort = await listen(main, address, port);
  const caFile = join(makeFolder('rollcall-webhooks-'), 'authority.pem');
  writeFileSync(caFile, authority.cert);
  return {
    ca: authority.cert,
    caFile,
    port: mainPort,
    url: (name, rest = '') =>
      `https://localhost:${servers.ports.get(name) ?? mainPort}/${name}${rest === '' ? '' : `/${rest}`}`,
    received,
    beforeAnswer: (task) => {
      beforeAnswer = task;
    },
    answered: () => answered,
    connections: () => connections,
    change: (name, next) => void changes.set(name, next),
    closeIdle: () => main.closeIdleConnections(),
    close: async () => {
      await Promise.all([main, ...places].map(close));
    },
  };
};

const collect = async (request: IncomingMessage, received: ReceivedWebhook[]): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { url: path = '', headers } = request;
  received.push({ path, headers, body: Buffer.concat(chunks).toString('utf8'), atMs: performance.now() });
};

const startServers = async (
  { authority, localhost }: Awaited<ReturnType<typeof issueCertificates>>,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
) => {
  const answerOk = (_: IncomingMessage, response: ServerResponse): void => void response.end();
  const expired = { name: 'localhost', issuer: authority, notAfterDate: new Date('2020-02-01') };
  const places = {
    wrong_host: createServer(
      await issueCertificate({ name: 'elsewhere.example', issuer: authority }),
      answerOk,
    ),
    untrusted: createServer(await issueCertificate({ name: 'localhost' }), answerOk),
    expired: createServer(await issueCertificate(expired), answerOk),
    plain_http: createTcpServer((socket) =>
      socket.on('error', ignore).resume().end('HTTP/1.1 200 OK\r\n\r\n'),
    ),
    no_handshake: createTcpServer((socket) => socket.on('error', ignore).resume()),
  };
  const ports = new Map<string, number>();
  for (const [name, server] of Object.entries(places)) ports.set(name, await listen(server));
  const dead = createTcpServer();
  ports.set('dead', await listen(dead));
  await close(dead);
  return { main: createServer(localhost, handle), places: Object.values(places), ports };
};

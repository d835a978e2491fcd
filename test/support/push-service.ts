/**
 * A push service on loopback over TLS, and browsers that subscribe to it: what a message looks like when
 * it arrives.
 *
 * Browsers decrypt by RFC 8291 and check the signature by RFC 8292 with node:crypto alone, not with the
 * library that encrypts. Each service has a self-signed certificate, so only clients that trust it
 * connect. Closed by the test that opened it.
 */
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  verify,
} from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import selfsigned from 'selfsigned';
import { close, listen } from './loopback.ts';

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface PushService {
  /** The CA certificate to trust. */
  readonly ca: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** Connections so far, also those without a request. */
  connections(): number;
  /** From now on; `null` never answers. */
  answer(next: (request: Received) => Answer | null): void;
  /** A browser that subscribes here. */
  browser(): Browser;
  close(): Promise<void>;
}
export interface Browser {
  readonly endpoint: string;
  readonly auth: string;
  readonly p256dh: string;
  /** Messages that reached it, decrypted; throws for one that is not meant for it. */
  messages(): readonly unknown[];
}

/** Starts one on a free port. */
export const startPushService = async (): Promise<PushService> => {
  const pems = await selfsigned.generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  const received: Received[] = [];
  let connections = 0;
  let answer: (request: Received) => Answer | null = () => ({ status: 201 });
  const server = createServer({ key: pems.private, cert: pems.cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
      received.push(one);
      const reply = answer(one);
      if (reply !== null) response.writeHead(reply.status, reply.headers).end('a body nobody reads');
    });
  });
  server.on('connection', () => connections++);
  const port = await listen(server);
  return {
    ca: pems.cert,
    port,
    received,
    connections: () => connections,
    answer: (next) => {
      answer = next;
    },
    browser: () => newBrowser(port, received),
    close: () => close(server),
  };
};

let browsers = 0;

const newBrowser = (port: number, received: readonly Received[]): Browser => {
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  const auth = randomBytes(16);
  const path = `/push/${++browsers}`;
  return {
    endpoint: `https://localhost:${port}${path}`,
    auth: auth.toString('base64url'),
    p256dh: keys.getPublicKey('base64url'),
    messages: () =>
      received
        .filter((one) => one.path === path)
        .map((one) => JSON.parse(decrypt(one.body, { keys, auth }).toString('utf8'))),
  };
};

interface Secrets {
  readonly keys: ReturnType<typeof createECDH>;
  readonly auth: Buffer;
}

const derive = (secret: Buffer, salt: Buffer, { info, length }: { info: Buffer; length: number }): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/** RFC 8291 over RFC 8188, for a message of one record. */
const decrypt = (body: Buffer, { keys, auth }: Secrets): Buffer => {
  const salt = body.subarray(0, 16);
  const keyEnd = 21 + (body[20] as number);
  const sender = body.subarray(21, keyEnd);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), sender]);
  const secret = derive(keys.computeSecret(sender), auth, { info, length: 32 });
  const part = (name: string, length: number): Buffer =>
    derive(secret, salt, { info: Buffer.from(`Content-Encoding: ${name}\0`), length });
  const decipher = createDecipheriv('aes-128-gcm', part('aes128gcm', 16), part('nonce', 12));
  decipher.setAuthTag(body.subarray(-16));
  const padded = Buffer.concat([decipher.update(body.subarray(keyEnd, -16)), decipher.final()]);
  const end = padded.lastIndexOf(lastRecord);
  if (end === -1) throw new Error('the message has no end');
  return padded.subarray(0, end);
};

/** The delimiter before the padding of the last record. */
const lastRecord = 2;

const keyOf = (point: Buffer): KeyObject =>
  createPublicKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33, 65).toString('base64url'),
    },
  });

/** The claims of a message's signature (RFC 8292); throws unless this key signed them. */
export const vapidClaims = (
  { headers }: Received,
  publicKey: string,
): { aud: string; exp: number; sub: string } => {
  const found = /^vapid t=([\w-]+\.[\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(headers.authorization ?? '');
  if (found === null) throw new Error(`no signature: ${headers.authorization}`);
  const [, signed = '', signature = '', key] = found;
  if (key !== publicKey) throw new Error('signed with another key');
  const keyOptions = {
    key: keyOf(Buffer.from(publicKey, 'base64url')),
    dsaEncoding: 'ieee-p1363' as const,
  };
  if (!verify('sha256', Buffer.from(signed), keyOptions, Buffer.from(signature, 'base64url'))) {
    throw new Error('the signature is wrong');
  }
  return JSON.parse(Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString('utf8'));
};

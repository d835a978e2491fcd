/**
 * The shipped HAProxy configuration with the real HAProxy: routing, the client's address, TLS, and nodes
 * that leave or die.
 *
 * The nodes are small servers that answer with their name and the X-Forwarded-For they got.
 */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as plainRequest, type Server } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { formatToken, tokenKinds } from '../../engine/rules/token.ts';
import { createHostScreen } from '../../http/operator/listener.ts';
import { makeFolder } from '../support/folder.ts';
import { checkConfiguration, findHaproxy, type Haproxy, startHaproxy } from '../support/haproxy.ts';
import { listen } from '../support/loopback.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';

const test = createSuiteNeeding('haproxy', findHaproxy);

interface Backend {
  readonly name: string;
  readonly server: Server;
  readonly admin: Server;
  ready: boolean;
}
interface BackendReply {
  readonly node: string;
  readonly forwardedFor: string;
  /** Headers that must be ASCII: a token, a key, a proof. */
  readonly ascii: readonly (string | null)[];
}

const folder = makeFolder('rollcall-haproxy-');
const backends: Backend[] = [];
let haproxy: Haproxy;
let port = 0;
let tlsPort = 0;
let env: Record<string, string> = {};

const key = Buffer.alloc(16, 1).toString('base64');
const screen = createHostScreen([]);
/** Whether the private listener of a node accepts this `Host`. */
const isAccepted = (host: string): boolean => {
  try {
    screen(host);
    return true;
  } catch {
    return false;
  }
};

const openBackend = async (name: string): Promise<Record<string, string>> => {
  const server = createServer((request, response) => {
    const forwardedFor = String(request.headers['x-forwarded-for'] ?? '');
    const { authorization, 'idempotency-key': key, 'x-vote-proof': proof } = request.headers;
    response.end(JSON.stringify({ node: name, forwardedFor, ascii: [authorization, key, proof] }));
  });
  // A WebSocket without messages, as far as a proxy can tell: it returns what it gets.
  server.on('upgrade', (_request, socket) => {
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    const upgraded = 'connection: upgrade\r\nupgrade: websocket';
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\n${upgraded}\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    socket.on('data', (data) => socket.write(data)).on('error', () => socket.destroy());
  });
  const admin = createServer(({ headers }, response) => {
    response.statusCode = isAccepted(headers.host ?? '') ? (backend.ready ? 200 : 503) : 421;
    response.end();
  });
  const backend: Backend = { name, server, admin, ready: true };
  backends.push(backend);
  const [publicPort, adminPort] = [await listen(server), await listen(admin)];
  const number = String(backends.length);
  return {
    [`ROLLCALL_NODE_${number}`]: `127.0.0.1:${publicPort}`,
    [`ROLLCALL_ADMIN_PORT_${number}`]: String(adminPort),
  };
};

/** Creates a file with a certificate for localhost and its key. */
const createCertificate = (): string => {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const result = spawnSync('openssl', [
    ...args,
    ...['-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost'],
  ]);
  assert.is(result.status, 0, String(result.stderr));
  const both = join(folder, 'both.pem');
  writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
  return both;
};

test.before(async () => {
  for (const name of ['a', 'b', 'c']) env = { ...env, ...(await openBackend(name)) };
  port = await findFreePort();
  tlsPort = await findFreePort();
  env = {
    ...env,
    ROLLCALL_CONNECTIONS_MAX: '200',
    ROLLCALL_BIND: `127.0.0.1:${port}`,
    ROLLCALL_TLS_BIND: `127.0.0.1:${tlsPort}`,
    ROLLCALL_CERTIFICATE: createCertificate(),
  };
  haproxy = await startHaproxy(['haproxy.cfg', 'tls.cfg'], env, port);
});
test.after(async () => {
  await haproxy.dispose();
  for (const { server, admin } of backends) {
    server.closeAllConnections();
    server.close();
    admin.closeAllConnections();
    admin.close();
  }
});

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<BackendReply> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, method, agent: false } as const;
    const request = plainRequest(options, (response) => {
      let text = '';
      response.on('data', (data: Buffer) => {
        text += data;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text) as BackendReply);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end();
  });
const findNode = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  (await ask(path, headers, method)).node;

test('HAProxy accepts the configuration without a warning', () => {
  assert.is(checkConfiguration(['haproxy.cfg'], env), '');
  assert.is(checkConfiguration(['haproxy.cfg', 'tls.cfg'], env), '');
});

test('every path and every token header of one bot reach one node', async () => {
  for (const id of ['111', '729481', 'a-b-c', '900000000000000001', 'Zz9']) {
    const token = formatToken({ kind: 'bot', id }, randomBytes(32));
    const expected = await findNode(`/bots/${id}`);
    const paths = [`/bots/${id}?target=page`, `/bot/${id}/votes/credits`, `/bots/${id}/sessions/1`];
    const owned = [`/users/5/bots/${id}/votes`, `/users/5/bot/${id}`];
    for (const path of [...paths, ...owned]) assert.is(await findNode(path), expected, path);
    const forms: Record<string, string>[] = [
      { authorization: token },
      { authorization: `Bot ${token}` },
      { authorization: `bot  ${token}` },
      { 'bot-auth': token },
      { 'bot-auth': `Bot ${token}` },
      { 'bot-auth': `Bot ${token}`, authorization: `Bot ${token}` },
      { 'Bot-Auth': `BOT ${token}` },
    ];
    for (const headers of forms) {
      assert.is(await findNode('/bots/stats', headers, 'POST'), expected, Object.entries(headers).join(' '));
    }
  }
});

test('a percent-encoded id is the same id', async () => {
  assert.is(await findNode('/bots/%37%37%37'), await findNode('/bots/777'));
});

test('ids are spread over all nodes', async () => {
  const counts = new Map<string, number>();
  for (let id = 0; id < 150; id++) {
    const node = await findNode(`/bots/${1_000 + id * 7}`);
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }

  assert.is(counts.size, 3);
  for (const count of counts.values()) assert.ok(count > 20, [...counts].join(' '));
});

test('lists, bare paths and invalid tokens are served as well', async () => {
  const paths = [
    '/',
    '/bots/@all',
    '/bots/@index',
    '/users/5',
    '/users/5/',
    '/bots//',
    '/@code',
    '/openapi.json',
  ];
  for (const path of paths) assert.ok(await findNode(path), path);
  for (const value of ['', 'rc_', 'rc_bot_', 'Bot', 'x'.repeat(2_000), 'Bot rc_bot__']) {
    assert.ok(await findNode('/bots/stats', { authorization: value }, 'POST'), value);
  }
  for (const kind of tokenKinds) {
    const token = formatToken({ kind, id: '1' }, randomBytes(32));
    assert.ok(await findNode('/bots/stats', { [`${kind}-auth`]: token }, 'POST'));
  }
});

test('bytes above 0x7F in headers that must be ASCII reach a node where it sees them', async () => {
  const mark = Buffer.from('(é)').toString('latin1');
  for (const byte of ['\xe4', '\xc3\xa4', '\xa0', '\xff']) {
    for (const odd of [`${byte}a`, `a${byte}a`, `a${byte}`, byte]) {
      for (const name of ['Authorization', 'user-auth', 'Bot-Auth', 'server-auth', 'team-auth'])
        assert.equal((await ask('/bots/1', { [name]: odd })).ascii, [mark, null, null], name);
      const { ascii } = await ask('/feed', { 'idempotency-key': odd, 'X-Vote-Proof': odd });
      assert.equal(ascii, [null, mark, mark]);
    }
    const headers = { authorization: 'a b', 'idempotency-key': '"c d"', 'x-vote-proof': '~!' };
    const { ascii } = await ask('/bots/1', { ...headers, 'user-agent': `M${byte}ller`, 'x-auth': byte });
    assert.equal(ascii, ['a b', '"c d"', '~!']);
  }
});

test('only the proxy sets the address of the client', async () => {
  const seen = await ask('/bots/1', { 'x-forwarded-for': '6.6.6.6' });

  assert.is(seen.forwardedFor, '127.0.0.1');
});

test('over TLS the same node answers, with HSTS', async () => {
  const expected = await findNode('/bots/111');
  const certificate = readFileSync(join(folder, 'certificate.pem'));
  const answer = await new Promise<{ seen: BackendReply; security: unknown }>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: tlsPort, path: '/bots/111', agent: false } as const;
    const request = tlsRequest({ ...options, ca: certificate, servername: 'localhost' }, (response) => {
      const security = response.headers['strict-transport-security'];
      response.on('data', (data: Buffer) =>
        resolve({ seen: JSON.parse(String(data)) as BackendReply, security }),
      );
    });
    request.on('error', reject);
    request.end();
  });

  assert.is(answer.seen.node, expected);
  assert.match(String(answer.security), /max-age/);
});

test('a WebSocket of the feed that is quiet for 100 s stays open, also over TLS', async () => {
  const ca = readFileSync(join(folder, 'certificate.pem'));
  const echoes = [
    connect(port, '127.0.0.1'),
    connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      ca,
      servername: 'localhost',
      ALPNProtocols: ['http/1.1'],
    }),
  ].map(async (socket) => {
    const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13';
    socket.write(`GET /feed HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\nsec-websocket-key: ${key}\r\n\r\n`);
    const [head] = await once(socket, 'data');
    assert.match(String(head), /^HTTP\/1\.1 101 /);
    await pause(100_000);
    const [echo] = await Promise.all([
      once(socket, 'data', { signal: AbortSignal.timeout(10_000) }),
      socket.write('still here'),
    ]);
    socket.destroy();
    return String(echo);
  });
  assert.equal(await Promise.all(echoes), ['still here', 'still here']);
});

test('a node that is not ready gets no requests, the others keep theirs, and it returns', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `${5_000 + index * 13}`);
  const before = new Map<string, string>();
  for (const id of ids) before.set(id, await findNode(`/bots/${id}`));
  const [leaving] = backends as [Backend];
  leaving.ready = false;
  await waitUntil(async () => {
    for (const id of ids) if ((await findNode(`/bots/${id}`)) === leaving.name) return false;
    return true;
  });

  for (const id of ids) {
    if (before.get(id) !== leaving.name) assert.is(await findNode(`/bots/${id}`), before.get(id));
  }
  leaving.ready = true;
  await waitUntil(async () => {
    for (const id of ids) if ((await findNode(`/bots/${id}`)) !== before.get(id)) return false;
    return true;
  });
});

test('no request fails when a node dies, not even a post', async () => {
  const [dying] = backends as [Backend];
  dying.server.closeAllConnections();
  dying.server.close();

  for (let id = 0; id < 60; id++) {
    assert.is.not(await findNode(`/bots/${7_000 + id}`, {}, id % 2 === 0 ? 'GET' : 'POST'), dying.name);
  }
});

test('with no node ready, nodes still answer; without any, a JSON error with CORS', async () => {
  for (const backend of backends) backend.ready = false;
  const url = `http://127.0.0.1:${port}/bots/@all`;
  await pause(1_500);
  assert.is((await fetch(url)).status, 200);
  for (const { server } of backends) {
    server.closeAllConnections();
    server.close();
  }
  const reply = await fetch(url);
  const { message, context } = (await reply.json()) as { message: string; context: { code: string } };
  assert.equal([reply.status, context.code], [503, 'store_unavailable']);
  assert.ok(message);
  assert.is(reply.headers.get('access-control-allow-origin'), '*');
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
});

const waitUntil = async (holds: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('HAProxy did not react within a minute');
    await pause(50);
  }
};

test.run();

/**
 * The shipped HAProxy configuration under the real program: who serves what, who the client is, TLS, and
 * nodes that go.
 *
 * The nodes are small servers that answer with their name and what they saw.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as plainRequest, type Server } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { formatToken, tokenKinds } from '../../engine/rules/token.ts';
import { createHostScreen } from '../../http/admin-hosts.ts';
import { checkConfiguration, type Haproxy, startHaproxy } from '../support/haproxy.ts';

const test = suite('haproxy');

interface Backend {
  readonly name: string;
  readonly server: Server;
  readonly admin: Server;
  ready: boolean;
}
interface Seen {
  readonly node: string;
  readonly forwardedFor: string;
}

const folder = mkdtempSync(join(tmpdir(), 'rollcall-haproxy-'));
const backends: Backend[] = [];
let haproxy: Haproxy;
let port = 0;
let tlsPort = 0;
let env: Record<string, string> = {};

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const screen = createHostScreen([]);
/** Whether the private listener of a node answers this `Host`. */
const isAnswered = (host: string): boolean => {
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
    response.end(JSON.stringify({ node: name, forwardedFor }));
  });
  const admin = createServer(({ headers }, response) => {
    response.statusCode = isAnswered(headers.host ?? '') ? (backend.ready ? 200 : 503) : 421;
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

/** A certificate for localhost with its key in one file. */
const makeCertificate = (): string => {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const made = spawnSync('openssl', [
    ...words,
    ...['-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost'],
  ]);
  assert.is(made.status, 0, String(made.stderr));
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
    ROLLCALL_CERTIFICATE: makeCertificate(),
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
  rmSync(folder, { recursive: true });
});

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, method, agent: false } as const;
    const asking = plainRequest(options, (response) => {
      let text = '';
      response.on('data', (data: Buffer) => {
        text += data;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text) as Seen);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    asking.on('error', reject);
    asking.end();
  });
const nodeOf = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  (await ask(path, headers, method)).node;

test('the program finds nothing to complain about', () => {
  assert.is(checkConfiguration(['haproxy.cfg'], env), '');
  assert.is(checkConfiguration(['haproxy.cfg', 'tls.cfg'], env), '');
});

test('every path and every token header of one bot reach one node', async () => {
  for (const id of ['111', '729481', 'a-b-c', '900000000000000001', 'Zz9']) {
    const token = formatToken({ kind: 'bot', id }, randomBytes(32));
    const expected = await nodeOf(`/bots/${id}`);
    const paths = [`/bots/${id}?target=page`, `/bot/${id}/votes/credits`, `/bots/${id}/sessions/1`];
    const owned = [`/users/5/bots/${id}/votes`, `/users/5/bot/${id}`];
    for (const path of [...paths, ...owned]) assert.is(await nodeOf(path), expected, path);
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
      assert.is(await nodeOf('/bots/stats', headers, 'POST'), expected, Object.entries(headers).join(' '));
    }
  }
});

test('an id in percent signs is the same id', async () => {
  assert.is(await nodeOf('/bots/%37%37%37'), await nodeOf('/bots/777'));
});

test('ids are spread over all nodes', async () => {
  const counts = new Map<string, number>();
  for (let id = 0; id < 150; id++) {
    const node = await nodeOf(`/bots/${1_000 + id * 7}`);
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }

  assert.is(counts.size, 3);
  for (const count of counts.values()) assert.ok(count > 20, [...counts].join(' '));
});

test('lists, bare paths and tokens that are none are served all the same', async () => {
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
  for (const path of paths) assert.ok(await nodeOf(path), path);
  for (const value of ['', 'rc_', 'rc_bot_', 'Bot', 'x'.repeat(2_000), 'Bot rc_bot__']) {
    assert.ok(await nodeOf('/bots/stats', { authorization: value }, 'POST'), value);
  }
  for (const kind of tokenKinds) {
    const token = formatToken({ kind, id: '1' }, randomBytes(32));
    assert.ok(await nodeOf('/bots/stats', { [`${kind}-auth`]: token }, 'POST'));
  }
});

test('only the proxy says who the client is', async () => {
  const seen = await ask('/bots/1', { 'x-forwarded-for': '6.6.6.6' });

  assert.is(seen.forwardedFor, '127.0.0.1');
});

test('over TLS the same node answers, with HSTS', async () => {
  const expected = await nodeOf('/bots/111');
  const certificate = readFileSync(join(folder, 'certificate.pem'));
  const answer = await new Promise<{ seen: Seen; security: unknown }>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: tlsPort, path: '/bots/111', agent: false } as const;
    const asking = tlsRequest({ ...options, ca: certificate, servername: 'localhost' }, (response) => {
      const security = response.headers['strict-transport-security'];
      response.on('data', (data: Buffer) => resolve({ seen: JSON.parse(String(data)) as Seen, security }));
    });
    asking.on('error', reject);
    asking.end();
  });

  assert.is(answer.seen.node, expected);
  assert.match(String(answer.security), /max-age/);
});

test('a node that is not ready gets no requests, the others keep theirs, and it comes back', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `${5_000 + index * 13}`);
  const before = new Map<string, string>();
  for (const id of ids) before.set(id, await nodeOf(`/bots/${id}`));
  const [leaving] = backends as [Backend];
  leaving.ready = false;
  await settle(async () => {
    for (const id of ids) if ((await nodeOf(`/bots/${id}`)) === leaving.name) return false;
    return true;
  });

  for (const id of ids) {
    if (before.get(id) !== leaving.name) assert.is(await nodeOf(`/bots/${id}`), before.get(id));
  }
  leaving.ready = true;
  await settle(async () => {
    for (const id of ids) if ((await nodeOf(`/bots/${id}`)) !== before.get(id)) return false;
    return true;
  });
});

test('a node that died costs no request, not even a post', async () => {
  const [dying] = backends as [Backend];
  dying.server.closeAllConnections();
  dying.server.close();

  for (let id = 0; id < 60; id++) {
    assert.is.not(await nodeOf(`/bots/${7_000 + id}`, {}, id % 2 === 0 ? 'GET' : 'POST'), dying.name);
  }
});

const settle = async (holds: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('HAProxy did not follow within a minute');
    await pause(50);
  }
};

test.run();

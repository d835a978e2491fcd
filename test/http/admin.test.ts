/**
 * The private listener: health, metrics, and the operator token that all else requires.
 *
 * A real server, of whose operations one stands for all that need the token; `/readyz` is checked in all its
 * states. Clients with several addresses are connections from several loopback addresses.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { App } from '../../http/app.ts';
import { createAdmin } from '../../http/operator/listener.ts';
import type { StoreAccess } from '../../http/operator/stores.ts';
import { watchFigures } from '../../http/telemetry/figures.ts';
import { createMetrics } from '../../http/telemetry/metrics.ts';
import { assertIncludes } from '../support/assert-includes.ts';
import { askFrom } from './from-address.ts';
import { raw } from './raw.ts';
import { silentLogger } from './silent-logger.ts';
import { realClock } from './world.ts';

const test = suite('admin');

interface FleetHealth {
  readonly ready: boolean;
  readonly notes: readonly string[];
}

const weak = 'Redis may lose a second';
const state = { ready: true, draining: false };
const app = {
  clock: realClock,
  engine: { readHealth: () => ({ ready: state.ready, notes: state.ready ? [] : ['the hot store is away'] }) },
  listWarnings: () => [weak],
  isDraining: () => state.draining,
  listNodes: () => [],
  settings: { sessionsPerEntityMax: 1, bodyBytesMax: 1_000 },
} as unknown as App; // What is asked here uses nothing else.
const version = { version: '1.2.3', commit: '0123456789ab' };
const metrics = createMetrics(['getBot', 'postStats'], version);
const figures = watchFigures(metrics, realClock);
const admin = createAdmin({
  app,
  metrics,
  logger: silentLogger,
  operators: [{ name: 'admin', token: 'op-token', readOnly: false }],
  commandStart: 'rollcall ops',
  hosts: ['Node1.example.org'],
  stores: {} as StoreAccess, // No route about them is asked here.
  live: { figures, waitingRoutes: new Set(), node: 'a', version: '1.2.3', listNodes: () => [] },
});
const port = await admin.listen('127.0.0.1', 0);
test.after(() => admin.drain(500));

const ask = (path: string, authorization?: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, authorization === undefined ? {} : { headers: { authorization } });

test('/livez says that the process runs, and its version', async () => {
  const reply = await ask('/livez');

  assert.is(reply.status, 200);
  assert.equal(await reply.json(), { status: 'alive', notes: [], ...version });
});

test('/metrics names the version', async () => {
  const text = await (await ask('/metrics')).text();

  assert.match(text, /^rollcall_build_info\{version="1\.2\.3",commit="0123456789ab",node="v22\..*"\} 1$/m);
});

test('/readyz and /status follow the engine, are not ready in a drain, and keep their notes', async () => {
  assert.is((await ask('/readyz')).status, 200);

  state.ready = false;
  const away = await ask('/readyz');
  assert.is(away.status, 503);
  assert.equal(await away.json(), { status: 'not ready', notes: ['the hot store is away', weak] });

  state.ready = true;
  state.draining = true;
  const draining = await ask('/readyz');
  assert.is(draining.status, 503);
  assert.equal(await draining.json(), { status: 'draining', notes: [weak] });
  const { ready, notes } = (await (await ask('/status', 'op-token')).json()) as FleetHealth;
  assert.equal({ ready, notes }, { ready: false, notes: [weak] });
  state.draining = false;
});

test('/metrics shows what was metered', async () => {
  metrics.requests.recordAnswer(1, 200, 3);
  metrics.requests.recordAnswer(1, 200, 0.1);
  metrics.requests.recordAnswer(-1, 404, 1);
  metrics.engine.recordCommit(7, 2);
  metrics.engine.recordPending(3);
  metrics.engine.recordBacklog({ entities: 5, votes: 6 }, 1_500);

  const answer = await ask('/metrics');
  const text = await answer.text();

  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  for (const line of [
    'rollcall_http_requests_total{route="postStats",status="200"} 2',
    'rollcall_http_requests_total{route="none",status="404"} 1',
    'rollcall_http_request_duration_seconds_bucket{route="postStats",le="0.00025"} 1',
    'rollcall_http_request_duration_seconds_bucket{route="postStats",le="0.005"} 2',
    'rollcall_http_request_duration_seconds_bucket{route="postStats",le="+Inf"} 2',
    'rollcall_http_request_duration_seconds_count{route="postStats"} 2',
    'rollcall_batch_items_sum 7',
    'rollcall_pending_items 3',
    'rollcall_outbox_votes 6',
    'rollcall_flush_lag_seconds 1.5',
  ]) {
    assertIncludes(text, `\n${line}\n`, line);
  }
  assert.match(text, /^nodejs_eventloop_lag_seconds/m);
  assert.match(text, /^process_resident_memory_bytes/m);
});

test('everything else needs the operator token', async () => {
  assert.is((await ask('/nodes')).status, 401);
  assert.is((await ask('/nodes', 'Bearer wrong')).status, 401);
  assert.is((await ask('/nodes', 'op-token2')).status, 401);
  assert.is((await ask('/nodes', 'Bearer op-token')).status, 200);
  assert.is((await ask('/nodes', 'op-token')).status, 200);
  assert.is((await ask('/unknown', 'op-token')).status, 404);
});

const statusFor = async (host: string, path = '/readyz'): Promise<number> => {
  const { text } = await raw(port, `GET ${path} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`);
  return Number(text.split(' ')[1]);
};

test('Host may be an IP address, localhost or a name of the setting, at any port', async () => {
  for (const host of [
    '127.0.0.1',
    `127.0.0.1:${port}`,
    '203.0.113.9:9090',
    '[::1]',
    '[2001:db8::1]:9090',
    'localhost',
    'LocalHost:1',
    'node1.example.org',
    'NODE1.EXAMPLE.ORG.:9090',
  ]) {
    assert.is(await statusFor(`Host: ${host}\r\n`), 200, host);
  }
});

test('any other Host is 421 on every path, known or not, with the token or without', async () => {
  for (const host of [
    'evil.example',
    'evil.example:9090',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'x.node1.example.org',
    'example.org',
    '127.1',
    '0x7f000001',
    '[::1',
    '::1',
    '[localhost]',
    '127.0.0.1@evil.example',
    '127.0.0.1:9090:evil.example',
    'localhost..',
    '',
  ]) {
    for (const path of ['/readyz', '/livez', '/metrics', '/nodes', '/unknown', '/']) {
      const lines = `Host: ${host}\r\nAuthorization: op-token\r\n`;
      assert.is(await statusFor(lines, path), 421, `${host} ${path}`);
    }
  }
});

test('a refused Host gets a message that says what to do', async () => {
  const { text } = await raw(port, 'GET /readyz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');

  assert.match(text, /^HTTP\/1\.1 421 Misdirected Request/);
  assert.match(text, /by a name listed in ADMIN_HOSTS.*"code":"host_not_allowed"/);
});

test('no Host, or two of them, is 400', async () => {
  assert.is(await statusFor(''), 400);
  assert.is(await statusFor('Host: 127.0.0.1\r\nHost: evil.example\r\n'), 400);
  assert.is(await statusFor('Host: evil.example\r\nHost: 127.0.0.1\r\n'), 400);
});

test('no reply lets a page of another origin read it', async () => {
  for (const [method, path] of [
    ['GET', '/readyz'],
    ['GET', '/metrics'],
    ['GET', '/nodes'],
    ['GET', '/unknown'],
    ['DELETE', '/nodes'],
    ['OPTIONS', '/nodes'],
    ['OPTIONS', '/metrics'],
  ] as const) {
    const origin = { origin: 'https://evil.example', 'access-control-request-method': 'GET' };
    for (const headers of [origin, { ...origin, authorization: 'op-token' }]) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
      const named = [...answer.headers.keys()].filter((name) => name.startsWith('access-control'));
      assert.equal(named, [], `${method} ${path}`);
    }
  }
});

const knock = (address: string, authorization: string) =>
  askFrom(address, { port, method: 'GET', path: '/nodes', authorization });

test('the eleventh wrong token of an address within a minute is 429; a right one never is', async () => {
  for (let count = 0; count < 10; count++) {
    assert.is((await knock('127.0.0.2', `wrong-${count}`)).status, 401);
    assert.is((await knock('127.0.0.2', 'op-token')).status, 200);
  }

  const refused = await knock('127.0.0.2', 'wrong');

  assert.is(refused.status, 429);
  assert.match(refused.headers['retry-after'] ?? '', /^[1-6]$/);
  for (let count = 0; count < 30; count++) {
    assert.is((await knock('127.0.0.2', 'op-token')).status, 200);
  }
  assert.is((await knock('127.0.0.3', 'wrong')).status, 401);
});

test('no token at all is not a wrong one', async () => {
  for (let count = 0; count < 15; count++) assert.is((await knock('127.0.0.4', '')).status, 401);
});

test.run();

/**
 * Sends a message to a browser through a push service over TLS that decrypts it and checks its signature.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import webPush from 'web-push';
import { createPushClient, type PushOptions } from '../../../http/outbound/push.ts';
import { type Browser, startPushService, vapidClaims } from '../../support/push-service.ts';

const test = suite('push client');
const keys = webPush.generateVAPIDKeys();

const service = await startPushService();
test.after(() => service.close());
test.before.each(() => service.answer(() => ({ status: 201 })));

const clientOf = (options: Partial<PushOptions> = {}) =>
  createPushClient({
    keys,
    contact: 'mailto:operator@example.org',
    reach: 'any',
    ca: service.ca,
    // The service listens on IPv4 only, however the machine resolves "localhost".
    resolve: async () => ['127.0.0.1'],
    ...options,
  });
const deliveryTo = ({ endpoint, auth, p256dh }: Omit<Browser, 'messages'>) => ({
  endpoint,
  auth,
  p256dh,
  payload: JSON.stringify({ message: 'You can vote again: lighthouse \u{1F989}' }),
  topic: 'a-topic_1',
  ttlSeconds: 3_600,
});

test('a message arrives decrypted, with topic, urgency, time to live and our signature', async () => {
  const browser = service.browser();

  assert.equal(await clientOf().send(deliveryTo(browser)), { kind: 'delivered' });

  assert.equal(browser.messages(), [{ message: 'You can vote again: lighthouse \u{1F989}' }]);
  const request = service.received.at(-1);
  assert.ok(request);
  const { headers } = request;
  assert.equal(
    [headers.topic, headers.urgency, headers.ttl, headers['content-encoding']],
    ['a-topic_1', 'normal', '3600', 'aes128gcm'],
  );
  const claims = vapidClaims(request, clientOf().publicKey);
  assert.equal(
    [claims.aud, claims.sub],
    [`https://localhost:${service.port}`, 'mailto:operator@example.org'],
  );
});

test('a status means gone, retry (after a given wait) or rejected; no redirect is followed', async () => {
  const outcomeOf = async (status: number, headers: Record<string, string> = {}) => {
    service.answer(() => ({ status, headers }));
    return clientOf().send(deliveryTo(service.browser()));
  };
  for (const status of [200, 201, 202, 204]) assert.is((await outcomeOf(status)).kind, 'delivered');
  for (const status of [404, 410]) assert.is((await outcomeOf(status)).kind, 'gone');
  for (const status of [400, 401, 403, 413]) assert.is((await outcomeOf(status)).kind, 'rejected');
  for (const status of [429, 500, 502, 503]) assert.is((await outcomeOf(status)).kind, 'retry');

  const outcome = await outcomeOf(429, { 'retry-after': '120' });
  assert.is('afterMs' in outcome ? outcome.afterMs : -1, 120_000);
  const dated = { 'retry-after': 'Wed, 01 Jul 2026 12:01:00 GMT', date: 'Wed, 01 Jul 2026 12:00:00 GMT' };
  const until = await outcomeOf(503, dated);
  assert.is('afterMs' in until ? until.afterMs : -1, 60_000);
  const undated = await outcomeOf(503, {
    'retry-after': new Date(Date.now() + 90_000).toUTCString(),
    date: '',
  });
  assert.ok(undated.kind === 'retry' && undated.afterMs > 60_000 && undated.afterMs <= 90_000);
  const nonsense = await outcomeOf(503, { 'retry-after': 'soon' });
  assert.is('afterMs' in nonsense ? nonsense.afterMs : -1, 0);

  assert.is((await outcomeOf(307, { location: '/elsewhere' })).kind, 'rejected');
  assert.not.ok(service.received.some(({ path }) => path === '/elsewhere'));
});

test('a service that hangs, does not exist or has a wrong certificate means retry', async () => {
  service.answer(() => null);
  const slow = await clientOf({ timeLimitMs: 200 }).send(deliveryTo(service.browser()));
  assert.is(slow.kind, 'retry');

  const stopping = new AbortController();
  const held = clientOf().send({ ...deliveryTo(service.browser()), signal: stopping.signal });
  stopping.abort();
  assert.is((await held).kind, 'retry');

  const untrusting = createPushClient({
    keys,
    contact: 'mailto:operator@example.org',
    reach: 'any',
    resolve: async () => ['127.0.0.1'],
  });
  const browser = service.browser();
  assert.is((await untrusting.send(deliveryTo(browser))).kind, 'retry');
  assert.equal(browser.messages(), []);
  const other = await startPushService();
  const gone = other.browser();
  await other.close();
  assert.is((await clientOf().send(deliveryTo(gone))).kind, 'retry');
});

test('no private address is reachable: by text, by name, or by a name that changes later', async () => {
  const trap = await startPushService();
  const browser = trap.browser();
  const public443 = { ...browser, endpoint: 'https://push.example.org/1' };
  const rebound = ['8.8.8.8', '127.0.0.1'];
  const client = clientOf({ reach: 'public', resolve: async () => [rebound.shift() ?? ''] });

  assert.is(await client.findEndpointFault(public443.endpoint), null);
  assert.match((await client.findEndpointFault(public443.endpoint)) ?? '', /public/);
  for (const endpoint of [browser.endpoint, 'https://127.0.0.1/', 'https://[::1]/', 'http://8.8.8.8/']) {
    const outcome = await client.send(deliveryTo({ ...browser, endpoint }));
    assert.is(outcome.kind, 'rejected', endpoint);
  }
  const inside = clientOf({ reach: 'public', resolve: async () => ['8.8.8.8', '10.0.0.1'] });
  assert.is((await inside.send(deliveryTo(public443))).kind, 'rejected');
  const nowhere = clientOf({ reach: 'public', resolve: async () => [] });
  assert.is((await nowhere.send(deliveryTo(public443))).kind, 'retry');
  const connections = trap.connections();
  await trap.close();
  assert.is(connections, 0);
});

test('a connection uses the checked address, without a second DNS query', async () => {
  const browser = service.browser();
  let queries = 0;
  const client = clientOf({
    resolve: async () => {
      queries += 1;
      return ['127.0.0.1'];
    },
  });
  const endpoint = browser.endpoint.replace('localhost', 'no-such-name.invalid');

  // The certificate is for "localhost": the TLS error proves that the connection was made.
  const outcome = await client.send(deliveryTo({ ...browser, endpoint }));

  assert.is(queries, 1);
  assert.match('reason' in outcome ? outcome.reason : '', /certificate|altname/i);
});

test('unusable keys are rejected without a throw', async () => {
  const outcome = await clientOf().send(deliveryTo({ ...service.browser(), p256dh: 'AAAA' }));

  assert.is(outcome.kind, 'rejected');
});

test('a connection that the system refuses at once is tried again, and ends no process', async () => {
  const browser = service.browser();

  // As without a route or without descriptors: TCP cannot connect to this address on any machine.
  const outcome = await clientOf({ resolve: async () => ['255.255.255.255'] }).send(deliveryTo(browser));

  assert.is(outcome.kind, 'retry');
});

test.run();

/**
 * The webhook sender against real receivers on loopback: those that answer, those that do not, and those that
 * want it to connect elsewhere.
 */
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createWebhookSender,
  type WebhookOutcome,
  type WebhookSenderOptions,
} from '../../../../http/outbound/webhooks/send.ts';
import { assertExcludes } from '../../../support/assert-includes.ts';
import { close, listen } from '../../../support/loopback.ts';
import {
  type Behaviour,
  issueCertificate,
  type Place,
  startWebhookReceivers,
} from '../../../support/webhook-receivers.ts';

const test = suite('webhook sender');
const receivers = await startWebhookReceivers();
const senders: ReturnType<typeof createWebhookSender>[] = [];

test.after.each(() => {
  for (const sender of senders.splice(0)) sender.close();
});
test.after(() => receivers.close());

/** No receiver of these tests needs as long, and no test waits for it. */
const patientMs = 60_000;
const createSender = (options: Partial<WebhookSenderOptions> = {}) => {
  const resolve = async () => ['127.0.0.1'];
  const sender = createWebhookSender({
    addresses: 'any',
    timeoutMs: patientMs,
    ca: receivers.ca,
    resolve,
    ...options,
  });
  senders.push(sender);
  return sender;
};
const headers = { 'content-type': 'application/json', 'webhook-id': 'one' };
const body = '{"text":"lighthouse \u{1F989}"}';

const postOnce = async (
  name: Behaviour | Place,
  options: Partial<WebhookSenderOptions> = {},
): Promise<WebhookOutcome> => {
  const connection = createSender(options).open(receivers.url(name));
  const outcome = await connection.post(headers, body);
  connection.close();
  return outcome;
};

test('a request arrives as it was given, with its length', async () => {
  const connection = createSender().open(`${receivers.url('ok', 'a')}?b=c%20d`);

  const outcome = await connection.post(headers, body);

  const { milliseconds, ...rest } = outcome;
  assert.equal(rest, { status: 200, error: '', detail: '', response: 'thank you', retryAfterMs: undefined });
  assert.ok(Number.isInteger(milliseconds) && milliseconds >= 0);
  const request = receivers.received.at(-1);
  assert.is(request?.path, '/ok/a?b=c%20d');
  assert.is(request?.body, body);
  assert.is(request?.headers['webhook-id'], 'one');
  assert.is(request?.headers.host, `localhost:${receivers.port}`);
  assert.is(request?.headers['content-length'], String(Buffer.byteLength(body)));
});

const expected: readonly (readonly [Behaviour, number, string, RegExp])[] = [
  ['ok', 200, '', /^$/],
  ['no_content', 204, '', /^$/],
  ['broken', 500, 'status', /answered 500/],
  ['moved', 301, 'redirect', /301 to https:\/\/localhost:\d+\/inside\)/],
  ['gone', 410, 'status', /answered 410/],
  ['throttled', 429, 'status', /answered 429/],
  ['half', 200, '', /^$/],
  ['half_broken', 500, 'status', /answered 500/],
  ['trickle', 200, '', /^$/],
  ['huge', 200, '', /^$/],
  ['not_text', 200, '', /^$/],
  ['reset', 0, 'connection', /ended without an answer/],
  ['switched', 0, 'connection', /ended/],
  ['many_headers', 0, 'answer_invalid', /longer than 16 KB/],
  ['not_http', 0, 'answer_invalid', /is not HTTP/],
];
let outcomes: ReadonlyMap<Behaviour, WebhookOutcome>;
test.before(async () => {
  // At once, because some take a second.
  const posts = expected.map(async ([name]) => [name, await postOnce(name)] as const);
  outcomes = new Map(await Promise.all(posts));
});
for (const [name, status, error, detail] of expected) {
  test(`a receiver that behaves as "${name}" gives ${status} ${error || 'success'}`, () => {
    const outcome = outcomes.get(name);

    assert.ok(outcome);
    assert.equal([outcome.status, outcome.error], [status, error], outcome.detail);
    assert.match(outcome.detail, detail);
    assert.ok(Buffer.byteLength(outcome.response) <= 512);
    assertExcludes(outcome.response, '\0');
    assert.is(outcome.retryAfterMs, name === 'throttled' ? 120_000 : undefined);
  });
}

test('an IPv6 address is compared with the certificate', async () => {
  const issuer = await issueCertificate({ name: 'authority of the test' });
  for (const [name, error] of [
    ['localhost', ''],
    ['elsewhere.example', 'tls'],
  ] as const) {
    const own = await issueCertificate({ name, issuer });
    const server = createServer(own, (_, response) => void response.end());
    const port = await listen(server, '::1');
    const connection = createSender({ ca: issuer.cert }).open(`https://[::1]:${port}/`);
    assert.is((await connection.post(headers, body)).error, error);
    connection.close();
    await close(server);
  }
});

test('a receiver without a valid certificate for its name never gets a request', async () => {
  for (const [name, detail] of [
    ['wrong_host', /altnames/],
    ['untrusted', /self-signed/],
    ['expired', /expired/],
    ['plain_http', /TLS/],
  ] as const) {
    const outcome = await postOnce(name);

    assert.equal([outcome.status, outcome.error], [0, 'tls'], name);
    assert.match(outcome.detail, detail);
  }
});

test('without an answer in time the attempt ends, whatever the receiver waits with', async () => {
  for (const name of ['silent', 'slow_headers', 'no_handshake'] as const) {
    const outcome = await postOnce(name, { timeoutMs: 300 });

    assert.equal([outcome.status, outcome.error], [0, 'timeout'], name);
    assert.match(outcome.detail, /within 300 ms/);
  }
  const lost = await postOnce('ok', { timeoutMs: 300, resolve: () => new Promise(() => undefined) });
  assert.is(lost.error, 'timeout');
});

test('a port without a server and a name without an address have errors of their own', async () => {
  assert.equal((await postOnce('dead')).error, 'connection');
  const unknown = async () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
  for (const resolve of [unknown, async () => []]) {
    assert.is((await postOnce('ok', { resolve })).error, 'dns');
  }
});

test('no redirect is followed', () => {
  assert.not.ok(receivers.received.some(({ path }) => path === '/inside'));
});

test('requests to one host share kept connections, also those of another webhook', async () => {
  const sender = createSender();
  const connection = sender.open(receivers.url('ok', 'kept'));
  const before = receivers.connections();

  for (let count = 0; count < 5; count++) assert.is((await connection.post(headers, body)).status, 200);
  connection.close();
  const other = sender.open(receivers.url('no_content', 'other'));
  assert.is((await other.post(headers, body)).status, 204);
  assert.is(receivers.connections() - before, 1);

  const posts = await Promise.all(Array.from({ length: 8 }, () => other.post(headers, body)));
  assert.equal(new Set(posts.map(({ error }) => error)), new Set(['']));
  assert.ok(receivers.connections() - before <= 8, `${receivers.connections() - before} connections`);
});

test('connections are kept for all requests that a node may have in flight to one host', async () => {
  const connection = createSender().open(receivers.url('no_content', 'many'));
  const many = { length: 100 };
  const before = receivers.connections();

  for (let round = 0; round < 2; round++) {
    const posts = await Promise.all(Array.from(many, () => connection.post(headers, body)));
    assert.equal(new Set(posts.map(({ error }) => error)), new Set(['']));
  }
  assert.ok(
    receivers.connections() - before <= many.length,
    `${receivers.connections() - before} connections`,
  );
});

test('no more connections are kept in all than the process may spare', async () => {
  const sender = createSender({ keptSocketsMax: 3 });
  const [one, other] = ['one', 'other'].map((name) => sender.open(receivers.url('no_content', name)));
  const sendAll = () =>
    Promise.all([one, other, one, other].map((connection) => connection?.post(headers, body)));
  await sendAll();
  const before = receivers.connections();

  const posts = await sendAll();

  assert.equal(new Set(posts.map((post) => post?.status)), new Set([204]));
  assert.is(receivers.connections() - before, 1, 'three are used again');
});

test('the judgements of 128 hosts are kept, the oldest one beyond is not', async () => {
  const lookups: string[] = [];
  const sender = createSender({
    resolve: async (name) => {
      lookups.push(name);
      return ['127.0.0.1'];
    },
  });
  const visit = (index: number) =>
    sender.open(receivers.url('dead').replace('localhost', `host-${index}.invalid`)).post(headers, body);

  for (let index = 0; index < 129; index++) await visit(index);
  for (const index of [128, 1, 0]) await visit(index);

  assert.equal(lookups.slice(128), ['host-128.invalid', 'host-0.invalid']);
});

test('a body over 4 KB ends its connection instead of being read', async () => {
  const connection = createSender().open(receivers.url('huge'));
  const before = receivers.connections();

  const first = await connection.post(headers, body);
  await connection.post(headers, body);

  assert.is(first.response, 'x'.repeat(512));
  assert.is(receivers.connections() - before, 2);
});

test('a kept connection that the receiver has ended is replaced, without a failure', async () => {
  const connection = createSender().open(receivers.url('ok', 'ended'));
  await connection.post(headers, body);
  const before = receivers.connections();

  // Its end may arrive before, after or during the request.
  receivers.closeIdle();
  const outcome = await connection.post(headers, body);

  assert.is(outcome.error, '', outcome.detail);
  assert.is(receivers.connections() - before, 1);
});

test('close ends what is in flight, and later requests', async () => {
  const sender = createSender();
  const [first, second] = [sender.open(receivers.url('silent')), sender.open(receivers.url('silent'))];
  const inFlight = [first.post(headers, body), second.post(headers, body)];

  first.close();
  assert.is((await inFlight[0])?.error, 'closed');
  sender.close();
  assert.is((await inFlight[1])?.error, 'closed');
  assert.is((await first.post(headers, body)).error, 'closed');
  assert.is((await second.post(headers, body)).error, 'closed');
});

test('no address that is not public is reachable: by text, by name, or beside a public one', async () => {
  const before = receivers.connections();
  for (const url of [receivers.url('ok'), 'https://127.0.0.1/', 'https://[::1]/', 'http://8.8.8.8/']) {
    const outcome = await createSender({ addresses: 'public' }).open(url).post(headers, body);
    assert.is(outcome.error, 'address_refused', url);
  }
  for (const addresses of [['10.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:127.0.0.1'], ['fd00::1']]) {
    const sender = createSender({ addresses: 'public', resolve: async () => addresses });
    const outcome = await sender.open('https://hooks.example.org/').post(headers, body);
    assert.is(outcome.error, 'address_refused', String(addresses));
  }
  assert.is(receivers.connections(), before);
});

test('a name whose address changes after it was judged leads to the judged address only', async () => {
  const trap = await startWebhookReceivers('127.0.0.2', receivers.port);
  let lookups = 0;
  const connection = createSender({
    resolve: async () => (lookups++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']),
  }).open(receivers.url('ok', 'rebound').replace('localhost', 'no-such-name.invalid'));

  // The certificate is not for this name, so each request needs a connection of its own.
  const posts = [await connection.post(headers, body), await connection.post(headers, body)];

  const connections = trap.connections();
  await trap.close();
  assert.equal(
    posts.map(({ error }) => error),
    ['tls', 'tls'],
  );
  assert.is(lookups, 1);
  assert.is(connections, 0);
});

test('after a while the address is judged again, and requests in flight end undisturbed', async () => {
  let lookups = 0;
  const resolve = async () => {
    lookups++;
    return ['127.0.0.1'];
  };
  const connection = createSender({ keepMs: 20, resolve }).open(receivers.url('ok', 'again'));

  while (lookups < 3) assert.is((await connection.post(headers, body)).error, '');
  // Its body takes until after the judgement has ended.
  const slow = createSender({ keepMs: 20, resolve }).open(receivers.url('half'));
  assert.is((await slow.post(headers, body)).response, 'begun');
});

test('a judgement that fails ends the use of the one before', async () => {
  let lookups = 0;
  const connection = createSender({
    keepMs: 1,
    resolve: async () => (lookups++ === 0 ? ['127.0.0.1'] : []),
  }).open(receivers.url('ok', 'ended-judgement'));

  let outcome = await connection.post(headers, body);
  assert.is(outcome.error, '');
  while (outcome.error === '') outcome = await connection.post(headers, body);

  assert.is(outcome.error, 'dns');
});

test('a connection that the system refuses at once is a failure, and ends no process', async () => {
  // As without a route or without descriptors: TCP cannot connect to this address on any machine.
  const refused = '255.255.255.255';
  const named = await postOnce('ok', { resolve: async () => [refused] });
  const literal = await createSender().open(`https://${refused}/`).post(headers, body);

  assert.equal([named.error, literal.error], ['connection', 'connection']);
});

test('sockets that cannot be prepared are a failure, and the next request prepares them again', async () => {
  const notText = 5 as unknown as string;
  const connection = createSender({ ca: notText }).open(receivers.url('ok', 'unprepared'));

  for (let count = 0; count < 2; count++)
    assert.is((await connection.post(headers, body)).error, 'connection');
});

test('http on a loopback port works where any address is allowed, and keeps its socket', async () => {
  let connections = 0;
  const server = createPlainServer(
    (request, response) => void request.resume().on('end', () => response.end()),
  );
  server.on('connection', () => connections++);
  const url = `http://localhost:${await listen(server)}/hook`;
  const connection = createSender().open(url);

  for (let count = 0; count < 2; count++) assert.is((await connection.post(headers, body)).error, '');
  assert.is(connections, 1);
  const outcome = await createSender({ addresses: 'public-http' }).open(url).post(headers, body);
  assert.is(outcome.error, 'address_refused');
  await close(server);
});

test.run();

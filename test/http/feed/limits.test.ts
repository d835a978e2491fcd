/**
 * What bounds the feed and ends it: connections of a node and of an address, who may see votes, upgrades that
 * are not what they seem, and a node that stops.
 */
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answerUpgrade } from '../../../http/server/uws-push.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { openWorld as openNode } from '../../world.ts';
import { openWorld, type World } from '../api/world.ts';
import { raw, untilClosed } from '../raw.ts';
import { type FeedClient, openSocket, openStream, Refused } from './clients.ts';

const test = suite('limits of the feed');
let world: World;
let base: string;

test.before(async () => {
  world = await openWorld({
    feed: { feedConnectionsMax: 4, feedConnectionsPerAddressMax: 2, voteLog: 'owner' },
  });
  base = `http://127.0.0.1:${world.port}`;
  await addUser(world.sql, 'robin');
  await addBot(world.sql, 'bot1');
});
test.after(() => world.close());

const openFrom = (address: string, query = 'targets=bot/bot1') =>
  openStream(base, query, { 'X-Forwarded-For': address });
const refusalOf = async (opening: Promise<FeedClient>): Promise<Refused> => {
  const refused = await opening.catch((error: unknown) => error);
  assert.instance(refused, Refused);
  return refused as Refused;
};

test('an address has its share of connections, and a closed one makes room', async () => {
  const first = await openFrom('10.0.0.1');
  const second = await openFrom('10.0.0.1');
  const third = await refusalOf(openFrom('10.0.0.1'));
  const other = await openFrom('10.0.0.2');
  first.close();
  let again: FeedClient | null = null;
  while (again === null) again = await openFrom('10.0.0.1').catch(() => null);

  const { code, outcome } = third.json.context;
  assert.equal([third.status, code, outcome], [503, 'feed_full', 'not_applied']);
  for (const client of [second, other, again]) client.close();
});

test('a node takes so many connections, and says when to try again', async () => {
  const opened: FeedClient[] = [];
  while (opened.length < 4) {
    const client = await openFrom(`10.0.1.${opened.length}`).catch(() => null);
    if (client !== null) opened.push(client);
  }
  const response = await fetch(`${base}/feed?targets=bot/bot1`, {
    headers: { 'X-Forwarded-For': '10.0.2.1' },
  });
  const { context } = JSON.parse(await response.text());

  assert.equal([response.status, context.code], [503, 'feed_full']);
  assert.is(response.headers.get('retry-after'), '10');
  for (const client of opened) client.close();
});

const openSocketFrom = (address: string) =>
  openSocket(base, 'targets=bot/bot1', { 'X-Forwarded-For': address });

test('an upgrade refused for now is answered later, and others are served meanwhile', async () => {
  const full = [await openSocketFrom('10.0.5.1'), await openSocketFrom('10.0.5.1')];
  const answered: string[] = [];
  const refused = openSocketFrom('10.0.5.1').then(
    () => answered.push('served'),
    () => answered.push('refused'),
  );
  const neighbour = await openSocketFrom('10.0.5.2');
  answered.push('neighbour');
  await neighbour.next('totals');
  await refused;
  assert.equal(answered, ['neighbour', 'refused']);

  for (const client of full) client.close();
  await Promise.all(full.map(({ closed }) => closed));
  let again: FeedClient | null = null;
  while (again === null) again = await openSocketFrom('10.0.5.1').catch(() => null);
  await again.next('totals');
  for (const client of [neighbour, again]) client.close();
});

const refusal = { status: 429, headers: '', body: '', close: false };
const nextTick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test('so many refusals wait, the next is answered at once, and a client that leaves makes room', async () => {
  let answers = 0;
  const answer = () => answerUpgrade(refusal, () => answers++);
  const waiting = Array.from({ length: 1_000 }, answer);
  answer();
  await nextTick();
  assert.is(answers, 1);

  waiting.pop()?.abort();
  waiting.push(answer());
  await nextTick();
  assert.is(answers, 1);
  for (const each of waiting) each.abort();
});

test('a node that is leaving lets no refusal wait', async () => {
  let answers = 0;
  answerUpgrade({ ...refusal, close: true }, () => answers++);
  await nextTick();

  assert.is(answers, 1);
});

test('votes that are not public are 403 on the feed, too', async () => {
  const refused = await refusalOf(openFrom('10.0.3.1', 'targets=bot/bot1&channels=totals,votes'));

  assert.equal([refused.status, refused.json.context.code], [403, 'forbidden']);
});

const upgradeLines =
  'GET /feed?targets=bot/bot1 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Forwarded-For: 10.0.4.1\r\n';

for (const [title, lines] of [
  ['a length', 'Content-Length: 40\r\n'],
  ['chunks', 'Transfer-Encoding: chunked\r\n'],
] as const) {
  test(`an upgrade with ${title} is refused and closed, and what follows it is not served`, async () => {
    const answer = await raw(
      world.port,
      `${upgradeLines}${lines}\r\nGET /feed?targets=bot/bot1 HTTP/1.1\r\nHost: a\r\n\r\n`,
      untilClosed,
    );

    // Where the next request is read first, the connection closes without a reply.
    assert.ok(answer.closed);
    assert.match(answer.text, /^(HTTP\/1\.1 (400|505) |$)/);
    assert.ok(answer.text.split('HTTP/1.1').length <= 2);
  });

  test(`an upgrade with ${title} is refused before its body comes`, async () => {
    const answer = await raw(world.port, `${upgradeLines}${lines}\r\n`, untilClosed);

    assert.ok(answer.closed);
    assert.match(answer.text, /^HTTP\/1\.1 400 .*An upgrade has no body\./s);
  });
}

for (const [title, line] of [
  ['8', 'Sec-WebSocket-Version: 8\r\n'],
  ['14', 'Sec-WebSocket-Version: 14\r\n'],
  ['none', ''],
] as const) {
  test(`an upgrade to version ${title} of WebSocket is refused with the version that is spoken`, async () => {
    const lines = upgradeLines.replace('Sec-WebSocket-Version: 13\r\n', line);
    const { text } = await raw(world.port, `${lines}\r\n`);
    const [head = '', body = ''] = text.split('\r\n\r\n');

    assert.match(head, /^HTTP\/1\.1 426 Upgrade Required\r\n/);
    assert.match(head, /\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13(\r\n|$)/);
    assert.is(JSON.parse(body).context.code, 'websocket_version_unsupported');
  });
}

test('an upgrade with an unknown target is refused as any request', async () => {
  const { text } = await raw(world.port, `${upgradeLines.replace('bot/bot1', 'bot/nope')}\r\n`);
  const [head = '', body = ''] = text.split('\r\n\r\n');

  assert.match(head, /^HTTP\/1\.1 404 /);
  assert.is(JSON.parse(body).context.code, 'not_found');
});

for (const [title, id] of [
  ['a zero byte', 'bot\\u0000'],
  ['half of a surrogate pair', 'bot\\ud800'],
] as const) {
  test(`a target with ${title} is not valid, and the WebSocket goes on`, async () => {
    const client = await openSocket(base);
    client.send(`{"op":"subscribe","targets":["bot/${id}"]}`);
    const { data } = await client.next('error');
    client.send({ op: 'ping' });
    await client.next('pong');

    assert.equal([data.code, Object.keys(data.context)], ['validation_failed', ['/targets']]);
    client.close();
  });
}

test('a client that cuts its upgrade or its stream at any moment leaves nothing behind', async () => {
  for (let count = 0; count < 30; count++) {
    const socket = connect(world.port, '127.0.0.1');
    socket.on('error', () => {
      // Cut on purpose.
    });
    await new Promise((resolve) => socket.once('connect', resolve));
    const request =
      count % 2 === 0 ? `${upgradeLines}\r\n` : 'GET /feed?targets=bot/bot1 HTTP/1.1\r\nHost: a\r\n\r\n';
    socket.write(request);
    if (count % 3 === 0) await new Promise((resolve) => socket.once('data', resolve));
    socket.resetAndDestroy();
  }
  let client: FeedClient | null = null;
  while (client === null) client = await openFrom('10.0.4.1').catch(() => null);
  await client.next('totals');

  client.close();
});

test('a node that stops says bye to all, and open feeds do not hold it up', async () => {
  const node = await openNode({ settings: { DRAIN_MS: '60000', TRUSTED_PROXIES: '127.0.0.1' } });
  const { bot } = node.demo;
  const stream = await openStream(node.url, `targets=bot/${bot.id}`);
  const socket = await openSocket(node.url, `targets=bot/${bot.id}`);
  await Promise.all([stream.next('totals'), socket.next('totals')]);
  const startedMs = performance.now();
  await node.close();
  const tookMs = performance.now() - startedMs;
  const farewells = await Promise.all([stream.next('bye'), socket.next('bye')]);

  for (const { data } of farewells) {
    assert.is(data.reason, 'restart');
    assert.ok(data.reconnect_after_ms >= 0 && data.reconnect_after_ms < 5_000);
  }
  assert.is(farewells[0].retryMs, farewells[0].data.reconnect_after_ms);
  assert.equal(await Promise.all([stream.closed, socket.closed]), [0, 1_012]);
  assert.ok(tookMs < 30_000, `${tookMs} ms`);
});

test.run();

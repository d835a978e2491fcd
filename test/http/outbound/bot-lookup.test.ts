/**
 * Bot look-ups at services that behave, misbehave, hang, and do not exist.
 *
 * Servers are real; the test controls the clock, and with it how long the circuit stays open.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBotLookup } from '../../../http/outbound/bot-lookup.ts';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import { aboutBot, json, startLookupServer } from '../../support/lookup-server.ts';

const test = suite('bot look-up');
const clientId = '815553000470478850';
const botId = '815553000470478851';
let nowMs = 1_000_000;
const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

const server = await startLookupServer();
test.before.each(() => {
  server.requested.length = 0;
});
test.after(() => server.close());

const create = (options = {}) =>
  createBotLookup({
    serviceUrl: server.serviceUrl,
    platformUrl: server.platformUrl,
    clock,
    timeLimitMs: 20_000,
    openMs: 10_000,
    ...options,
  });

test('an answer is read, shortened and cleaned', async () => {
  server.answer = () =>
    json(
      aboutBot(
        clientId,
        {
          id: botId,
          username: 'x'.repeat(200),
          global_name: 'Night\u0000\u202e \ud800Lamp',
          avatarURL: 'http://a/b',
        },
        { description: 'y'.repeat(5_000), tags: Array.from({ length: 100 }, () => 'z'.repeat(100)) },
      ),
    );
  const result = await create().queryService(clientId);

  assert.is(result.kind, 'found');
  if (result.kind !== 'found') return;
  assert.is(result.atMs, nowMs);
  const { bot, ...about } = result.value;
  assert.equal([about.name, about.public], ['Night Lamp', true]);
  assert.equal([about.description.length, about.tags.length, about.tags[0]?.length], [4_096, 32, 64]);
  assert.equal([bot?.id, bot?.username.length, bot?.avatar, bot?.servers], [botId, 64, '', 12]);
  assert.equal([bot?.displayName, bot?.flags], ['Night  \ufffdLamp', ['VERIFIED_BOT']]);
  assert.equal(server.requested, [`/service/${clientId}`]);
});

test('an application without a bot is reported as such; null and absent fields are unset', async () => {
  server.answer = () => json({ data: { application: { id: clientId, description: null, icon: null } } });
  const result = await create().queryService(clientId);

  assert.equal(result, {
    kind: 'found',
    atMs: nowMs,
    value: { name: '', description: '', public: false, tags: [], bot: null },
  });
});

test("the platform's endpoint knows applications only", async () => {
  server.answer = () => json({ id: clientId, name: 'Night Lamp', bot_public: true, bot: { id: botId } });
  const result = await create().queryPlatform(clientId);

  assert.is(result.kind === 'found' && result.value.name, 'Night Lamp');
  assert.is(result.kind === 'found' && result.value.bot, null);
  assert.equal(server.requested, [`/platform/${clientId}/rpc`]);
});

for (const [what, answer, words] of [
  ['a broken gateway', json({ message: 'no' }, 502), /status 502/],
  ['a redirect', json({}, 302), /status 302/],
  ['a page that is not there', json('gone', 404), /status 404/],
  ['a rate limit', json({ retry_after: 3 }, 429), /429/],
  [
    'garbage',
    ((_request, response) => response.end('<h1>hi</h1>')) as ReturnType<typeof json>,
    /unexpected answer/,
  ],
  ['another shape', json({ data: {} }), /unexpected answer/],
  ['another application', json(aboutBot('815553000470478999', null)), /unexpected answer/],
  ['an id that is none', json(aboutBot(clientId, { id: '../1' })), /unexpected answer/],
  ['too much', json(aboutBot(clientId, null, { description: 'x'.repeat(70_000) })), /unexpected answer/],
] as const) {
  test(`${what} is a failure, and its message names no address`, async () => {
    server.answer = () => answer;
    const result = await create().queryService(clientId);

    assert.is(result.kind, 'failed');
    assert.match(result.kind === 'failed' ? result.message : '', words);
    assert.not.match(JSON.stringify(result), /127\.0\.0\.1|http/);
  });
}

test('a definite "no such application" is not a failure', async () => {
  server.answer = () => json({ message: 'Unknown Application' }, 404);
  assert.is((await create().queryService(clientId)).kind, 'unknown');
});

test('a closed port, a silent server and a missing setting are failures', async () => {
  server.answer = () => null;
  const silent = await create({ timeLimitMs: 100 }).queryService(clientId);
  const nowhere = await create({ serviceUrl: 'http://127.0.0.1:1/{id}' }).queryService(clientId);
  const off = await create({ serviceUrl: '' }).queryService(clientId);

  const messages = [silent, nowhere, off].map((result) => result.kind === 'failed' && result.message);
  assert.equal(messages, ['did not answer', 'did not answer', 'is not configured']);
});

test('simultaneous look-ups of one key share one request, and the answer is cached', async () => {
  server.answer = () => json(aboutBot(clientId, { id: botId }));
  const lookup = create();
  const results = await Promise.all(Array.from({ length: 20 }, () => lookup.queryService(clientId)));
  nowMs += 5_000;
  const later = await lookup.queryService(clientId);

  assert.is(server.requested.length, 1);
  assert.equal(
    [...results, later].filter((one) => one !== results[0]),
    [],
  );
});

test('failures are not cached; three in a row open the circuit, then one request tries', async () => {
  server.answer = () => json({}, 500);
  const lookup = create();
  for (let count = 0; count < 5; count++) assert.is((await lookup.queryService(clientId)).kind, 'failed');
  assert.is(server.requested.length, 3);

  nowMs += 10_001;
  const tried = await Promise.all(
    ['1', '2', '3'].map((end) => lookup.queryService(`81555300047047885${end}`)),
  );
  assert.is(server.requested.length, 4);
  assert.equal(
    tried.filter(({ kind }) => kind !== 'failed'),
    [],
  );
  await lookup.queryService(clientId);
  assert.is(server.requested.length, 4);

  nowMs += 10_001;
  server.answer = () => json(aboutBot(clientId, { id: botId }));
  assert.is((await lookup.queryService(clientId)).kind, 'found');
  await lookup.queryService(botId);
  assert.is(server.requested.length, 6);
});

test('a 429 opens the circuit at once', async () => {
  server.answer = () => json({}, 429);
  const lookup = create();
  await lookup.queryService(clientId);
  const second = await lookup.queryService(botId);

  assert.match(second.kind === 'failed' ? second.message : '', /not called for a while/);
  assert.is(server.requested.length, 1);
});

test('each request counts once, as success, failure or rejected; a cached answer does not', async () => {
  const metrics = createMetrics([], { version: '1.2.3', commit: 'unknown' });
  const lookup = create({ meters: metrics.outbound, restMs: 60_000 });
  server.answer = () => json(aboutBot(clientId, { id: botId }));
  for (let count = 0; count < 3; count++) await lookup.queryService(clientId);
  server.answer = () => json({}, 500);
  for (let end = 1; end <= 5; end++) await lookup.queryPlatform(`81555300047047885${end}`);

  const questions = (await metrics.render()).match(/^rollcall_outbound_requests_total.* [1-9]\d*$/gm);
  assert.equal(questions, [
    'rollcall_outbound_requests_total{service="lookup",outcome="success"} 1',
    'rollcall_outbound_requests_total{service="platform",outcome="failure"} 3',
    'rollcall_outbound_requests_total{service="platform",outcome="rejected"} 2',
  ]);
});

test('requests in flight are bounded, however slow the service is', async () => {
  server.answer = () => null;
  const lookup = create({ timeLimitMs: 500 });
  const ids = Array.from({ length: 50 }, (_, index) => String(815_553_000_470_400_000n + BigInt(index)));
  const results = await Promise.all(ids.map((id) => lookup.queryService(id)));

  const crowded = results.filter(
    (one) => one.kind === 'failed' && /too many requests in flight/.test(one.message),
  );
  assert.is(crowded.length, 18);
  assert.ok(server.requested.length <= 32);
});

test.run();

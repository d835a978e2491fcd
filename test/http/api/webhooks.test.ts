/**
 * Webhooks against a complete Rollcall: from the vote to the receiver, endpoints as their owners edit them,
 * the log of deliveries, the test button, replays.
 *
 * Receivers are real TLS servers on loopback. The node looks for due deliveries when the test says so, and by
 * itself after each flush that wrote some.
 */
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { type Answer, openWorld, type World } from './world.ts';

const test = suite('routes of webhooks');
const receivers = await startWebhookReceivers();
const world: World = await openWorld({ webhooks: { ca: receivers.ca } });
const hourMs = 3_600_000;
let bots = 0;
let users = 0;

test.before(async () => {
  await addUser(world.sql, 'robin');
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const createBot = async (): Promise<string> => {
  const id = `bot${++bots}`;
  await addBot(world.sql, id);
  return id;
};
const call = async (
  method: string,
  path: string,
  { body, owner = 'robin' }: { body?: unknown; owner?: string } = {},
): Promise<Answer> => {
  const token = await world.token('user', owner);
  return world.ask(method, path, { token, ...(body === undefined ? {} : { body }) });
};
const create = async (target: string, fields: object): Promise<{ id: string; secret: string }> => {
  const { status, json, text } = await call('POST', `/${target}/webhooks`, {
    body: { name: 'x', ...fields },
  });
  assert.is(status, 201, text);
  return json;
};
/** Votes as a new user; resolves when the vote is in SQL. */
const vote = async (bot: string, upvote = true): Promise<string> => {
  const user = `voter${++users}`;
  await addUser(world.sql, user);
  const path = `/users/${user}/bots/${bot}/votes?upvote=${upvote}`;
  const { status } = await call('PUT', path, { owner: user });
  assert.is(status, 204);
  await world.engine.waitForFlush('bot', bot);
  return user;
};
const receivedAt = (rest: string) => receivers.received.filter(({ path }) => path.endsWith(`/${rest}`));
const readDeliveries = async (bot: string, id: string, query = '') =>
  (await call('GET', `/bots/${bot}/webhooks/${id}/deliveries${query}`)).json.results;
const statesOf = async (bot: string, id: string): Promise<string[]> =>
  (await readDeliveries(bot, id)).map(({ state }: { state: string }) => state);
const waitForStates = (bot: string, id: string, states: readonly string[]): Promise<void> =>
  until(`states ${states}`, async () => String(await statesOf(bot, id)) === String(states), 10_000);

test('a vote reaches the receiver once, signed, and is listed as delivered', async () => {
  const bot = await createBot();
  const { id, secret } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const user = await vote(bot);
  await waitForStates(bot, id, ['delivered']);

  const [request, ...more] = receivedAt(bot);
  assert.equal(more, []);
  const { type, data } = JSON.parse(request?.body ?? '');
  assert.equal([type, data.number, data.votes, data.upvote, data.weight], ['vote.created', 1, 1, true, 1]);
  assert.equal([data.user.id, data.user.username, data.target.id], [user, `name-of-${user}`, bot]);
  const [delivery] = await readDeliveries(bot, id);
  assert.is(delivery.id, request?.headers['webhook-id']);
  assert.equal(
    delivery.attempts.map(({ status, error }: Record<string, unknown>) => [status, error]),
    [[200, '']],
  );
  assert.ok(secret.startsWith('whsec_'));
});

test('the secret is shown once; its end, and nothing else of it, is in the list', async () => {
  const bot = await createBot();
  const { id, secret } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const { json, text } = await call('GET', `/bots/${bot}/webhooks`);

  assert.equal(
    json.webhooks.map((webhook: { id: string; secret_hint: string }) => [webhook.id, webhook.secret_hint]),
    [[id, `whsec_…${secret.slice(-4)}`]],
  );
  assertExcludes(text, secret.slice(6, 20));
  const [row] = await world.sql<{ stored: string }[]>`
    select row_to_json(webhook_endpoints)::text as stored from webhook_endpoints where id = ${id}`;
  assertExcludes(row?.stored, Buffer.from(secret).toString('hex'));
});

test('an own secret is kept; one that cannot sign → 400', async () => {
  const bot = await createBot();
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  assert.is((await create(`bots/${bot}`, { url: receivers.url('ok'), secret })).secret, secret);
  const { status, json } = await call('POST', `/bots/${bot}/webhooks`, {
    body: { name: 'x', url: receivers.url('ok'), secret: 'whsec_short' },
  });
  assert.equal([status, Object.keys(json.context)[0]], [400, '/secret']);
});

for (const [fields, pointer] of [
  [{ url: 'ftp://example.org/' }, '/url'],
  [{ url: 'https://user:pass@example.org/' }, '/url'],
  [{ url: 'https://example.org/', format: 'discord' }, '/url'],
  [{ url: 'https://example.org/', events: ['stats.posted'] }, '/events/0'],
  [{ url: 'https://example.org/', events: [] }, '/events'],
  [{ url: 'https://example.org/', format: 'xml' }, '/format'],
] as const) {
  test(`${JSON.stringify(fields)} → 400 at ${pointer}`, async () => {
    const bot = await createBot();
    const { status, json } = await call('POST', `/bots/${bot}/webhooks`, { body: { name: 'x', ...fields } });

    assert.is(status, 400, JSON.stringify(json));
    assert.ok(pointer in json.context, JSON.stringify(json));
  });
}

test('a listing has at most so many webhooks; packs have none', async () => {
  const bot = await createBot();
  const body = { name: 'x', url: receivers.url('ok') };
  const statuses = await Promise.all(
    [1, 2, 3, 4, 5].map(async () => (await call('POST', `/bots/${bot}/webhooks`, { body })).status),
  );
  assert.equal(statuses.sort(), [201, 201, 201, 409, 409]);
  const { json } = await call('GET', '/packs/pack1/webhooks');
  assert.is(json.context.code, 'target_type_unsupported');
});

test('after a new secret both sign, so a receiver may change over in its own time', async () => {
  const bot = await createBot();
  const { id, secret: former } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const { json } = await call('POST', `/bots/${bot}/webhooks/${id}/secret`);
  await vote(bot);
  await waitForStates(bot, id, ['delivered']);
  const [request] = receivedAt(bot);
  for (const secret of [json.secret, former]) {
    const { 'webhook-id': event, 'webhook-timestamp': at, 'webhook-signature': all } = request?.headers ?? {};
    const signature = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(`${event}.${at}.${request?.body}`)
      .digest('base64');
    assertIncludes(String(all).split(' '), `v1,${signature}`);
  }
  world.clock.skip(25 * hourMs);
  await vote(bot);
  await waitForStates(bot, id, ['delivered', 'delivered']);
  const signatures = receivedAt(bot).map(
    ({ headers }) => String(headers['webhook-signature']).split(' ').length,
  );
  assert.equal(signatures, [2, 1]);
});

test('the test button says what came of it, and changes nothing', async () => {
  const bot = await createBot();
  const { id, secret } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const press = async () =>
    (await call('POST', `/bots/${bot}/webhooks/${id}/test`)).json as Record<string, unknown>;
  const good = await press();
  assert.equal([good.delivered, good.status, good.response], [true, 200, 'thank you']);
  assert.is(JSON.parse(receivedAt(bot)[0]?.body ?? '').type, 'webhook.test');
  await call('PATCH', `/bots/${bot}/webhooks/${id}`, { body: { url: receivers.url('moved', bot), secret } });
  const moved = await press();
  assert.equal([moved.delivered, moved.status, moved.error], [false, 301, 'redirect']);
  await call('PATCH', `/bots/${bot}/webhooks/${id}`, { body: { enabled: false } });
  const { status, json } = await call('POST', `/bots/${bot}/webhooks/${id}/test`);
  assert.equal([status, json.context.code, json.context.reason], [409, 'webhook_disabled', 'owner']);
  const [shown] = (await call('GET', `/bots/${bot}/webhooks`)).json.webhooks;
  assert.equal([shown.failing_since, shown.pending], [null, 0]);
});

test('a downvote is not sent with `up_only`, nor in the format topgg', async () => {
  const bot = await createBot();
  const some = await create(`bots/${bot}`, { url: receivers.url('ok', bot), up_only: true });
  const topgg = await create(`bots/${bot}`, { url: receivers.url('ok', `${bot}-topgg`), format: 'topgg' });
  const every = await create(`bots/${bot}`, { url: receivers.url('ok', `${bot}-all`) });
  await vote(bot, false);
  await waitForStates(bot, every.id, ['delivered']);
  const user = await vote(bot, true);
  await waitForStates(bot, topgg.id, ['delivered']);
  await waitForStates(bot, some.id, ['delivered']);

  const [request] = receivedAt(`${bot}-topgg`);
  assert.is(request?.headers.authorization, topgg.secret);
  assert.equal(JSON.parse(request?.body ?? ''), { bot, user, type: 'upvote', isWeekend: false, query: '' });
});

test('a double vote at the weekend is one event with both votes', async () => {
  const bot = await createBot();
  const { id } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const dayMs = 24 * hourMs;
  const daysToSaturday = (6 - new Date(world.clock.nowMs()).getUTCDay() + 7) % 7;
  world.clock.skip(daysToSaturday * dayMs);
  await vote(bot);
  world.clock.skip(-daysToSaturday * dayMs);
  await waitForStates(bot, id, ['delivered']);

  const { data } = JSON.parse(receivedAt(bot)[0]?.body ?? '');
  assert.equal([data.weight, data.vote_ids.length, data.number, data.votes], [2, 2, 1, 2]);
  assert.is(data.vote_ids[0], data.itag);
  assert.is(Date.parse(data.next_vote_at) - Date.parse(data.created_at), 6 * hourMs);
});

test('a failed delivery is repeated with the same id and the same bytes, also after a rename', async () => {
  const bot = await createBot();
  const { id } = await create(`bots/${bot}`, { url: receivers.url('broken', bot) });
  const user = await vote(bot);
  await until('the first attempt', async () => (await readDeliveries(bot, id))[0].attempts.length === 1);
  await world.sql`update users set username = 'renamed' where id = ${user}`;
  world.clock.skip(10_000);
  await world.webhooks.look();
  await until('the second attempt', async () => (await readDeliveries(bot, id))[0].attempts.length === 2);

  const [first, second] = receivedAt(bot);
  assert.is(first?.body, second?.body);
  assert.is(first?.headers['webhook-id'], second?.headers['webhook-id']);
  const [delivery] = await readDeliveries(bot, id);
  assert.equal([delivery.state, delivery.attempts[0].error], ['pending', 'status']);
  assert.is(delivery.attempts[0].response, 'out of order');
});

test('a failing endpoint gets one request per pause; its recovery sends what waited, in order', async () => {
  const bot = await createBot();
  const { id } = await create(`bots/${bot}`, { url: receivers.url('half_broken', bot) });
  for (let count = 0; count < 6; count++) await vote(bot);
  const read = async () => (await call('GET', `/bots/${bot}/webhooks`)).json.webhooks[0];
  const isRecorded = async () => {
    const shown = (await readDeliveries(bot, id)) as { attempts: unknown[] }[];
    return shown.reduce((sum, { attempts }) => sum + attempts.length, 0) === receivedAt(bot).length;
  };
  await until('the endpoint fails', async () => receivedAt(bot).length >= 3 && (await isRecorded()));
  const tried = receivedAt(bot).length;
  world.clock.skip(4 * hourMs);
  await Promise.all([world.webhooks.look(), vote(bot)]);
  await until('one more attempt', async () => receivedAt(bot).length > tried && (await isRecorded()));
  const { pending, failing_since } = await read();
  assert.is(pending, 7);
  assert.ok(failing_since !== null);

  receivers.change('half_broken', 'ok');
  world.clock.skip(24 * hourMs);
  await world.webhooks.look();
  await waitForStates(
    bot,
    id,
    Array.from({ length: 7 }, () => 'delivered'),
  );
  receivers.change('half_broken', 'half_broken');
  const healed = await read();
  assert.equal([healed.pending, healed.failing_since], [0, null]);
});

test('410 disables at once: nothing more is written; enabling again sends what waits', async () => {
  const bot = await createBot();
  const { id, secret } = await create(`bots/${bot}`, { url: receivers.url('gone', bot) });
  await vote(bot);
  const read = async () => (await call('GET', `/bots/${bot}/webhooks`)).json.webhooks[0];
  await until('it is disabled', async () => (await read()).enabled === false);
  await vote(bot);
  const { disabled_reason, pending } = await read();
  assert.equal([disabled_reason, pending], ['gone', 1]);

  const body = { enabled: true, url: receivers.url('ok', bot), secret };
  assert.is((await call('PATCH', `/bots/${bot}/webhooks/${id}`, { body })).status, 204);
  await waitForStates(bot, id, ['delivered']);
  const { status, json } = await call('POST', `/bots/${bot}/webhooks/${id}/replay`, {
    body: { from_number: 1, to_number: 9 },
  });
  assert.equal([status, json], [202, { queued: 2 }]);
  await until('both were replayed', () => receivedAt(bot).length === 4);
  await waitForStates(bot, id, ['delivered', 'delivered']);
});

test('a replay sends the original id, to a disabled endpoint too, and leaves its health alone', async () => {
  const bot = await createBot();
  const { id } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const replay = (body: object) => call('POST', `/bots/${bot}/webhooks/${id}/replay`, { body });
  await vote(bot);
  await waitForStates(bot, id, ['delivered']);
  await call('PATCH', `/bots/${bot}/webhooks/${id}`, { body: { enabled: false } });
  await vote(bot);
  assert.equal((await replay({ number: 1 })).json, { queued: 1 });
  await until('it was replayed', () => receivedAt(bot).length === 2);
  const ids = receivedAt(bot).map(({ headers }) => headers['webhook-id']);
  assert.is(ids[0], ids[1]);
  const since = new Date(world.clock.nowMs() - hourMs).toISOString();
  const until_ = new Date(world.clock.nowMs() + hourMs).toISOString();
  const failed = await replay({ since, until: until_, failed_only: true });
  assert.equal(failed.json, { queued: 0 });
  const all = await replay({ since, until: until_ });
  assert.equal(all.json, { queued: 2 });
  await until('both were replayed', () => receivedAt(bot).length === 4);
  for (const body of [{}, { number: 1, since }, { from_number: 3, to_number: 2 }, { since }]) {
    assert.is((await replay(body)).json.context.code, 'validation_failed', JSON.stringify(body));
  }
});

test('deliveries come in pages, newest first; clearing them leaves what waits', async () => {
  const bot = await createBot();
  const { id, secret } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  for (let count = 0; count < 3; count++) await vote(bot);
  await waitForStates(bot, id, ['delivered', 'delivered', 'delivered']);
  const path = `/bots/${bot}/webhooks/${id}/deliveries`;
  const first = (await call('GET', `${path}?limit=2`)).json;
  const second = (await call('GET', `${path}?limit=2&after=${first.next}`)).json;
  const numbersOf = ({ results }: { results: { number: number }[] }) => results.map(({ number }) => number);
  assert.equal([numbersOf(first), numbersOf(second), second.next], [[3, 2], [1], null]);
  assert.equal((await call('GET', `${path}?state=pending`)).json.results, []);
  assert.is((await call('GET', `${path}?after=x`)).status, 400);

  await call('PATCH', `/bots/${bot}/webhooks/${id}`, { body: { url: receivers.url('broken', bot), secret } });
  await vote(bot);
  await until('an attempt', async () => (await readDeliveries(bot, id))[0].attempts.length > 0);
  assert.is((await call('DELETE', path)).status, 204);
  assert.equal(await statesOf(bot, id), ['pending']);
});

test('a deleted webhook, and a webhook of a deleted listing, get nothing more', async () => {
  const [one, two] = [await createBot(), await createBot()];
  const first = await create(`bots/${one}`, { url: receivers.url('broken', one) });
  await create(`bots/${two}`, { url: receivers.url('broken', two) });
  await Promise.all([vote(one), vote(two)]);
  await until('attempts', () => receivedAt(one).length + receivedAt(two).length >= 2);
  assert.is((await call('DELETE', `/bots/${one}/webhooks/${first.id}`)).status, 204);
  assert.is((await call('DELETE', `/bots/${two}`)).status, 204);
  const before = [receivedAt(one).length, receivedAt(two).length];
  world.clock.skip(48 * hourMs);
  await world.webhooks.look();
  await vote(one);
  await world.webhooks.look();

  assert.equal([receivedAt(one).length, receivedAt(two).length], before);
  assert.is((await call('DELETE', `/bots/${one}/webhooks/${first.id}`)).status, 404);
  assert.is((await call('GET', `/bots/${one}/webhooks/${first.id}/deliveries`)).status, 404);
});

test('a deleted webhook gets nothing more within a second, however slow its receiver is', async () => {
  const bot = await createBot();
  const { id } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  await call('PATCH', `/bots/${bot}/webhooks/${id}`, { body: { enabled: false } });
  for (let count = 0; count < 32; count++) await vote(bot);
  receivers.beforeAnswer(() => pause(700));
  await call('POST', `/bots/${bot}/webhooks/${id}/replay`, { body: { from_number: 1, to_number: 9_999 } });
  await until('the second page', () => receivedAt(bot).length > 8);
  assert.is((await call('DELETE', `/bots/${bot}/webhooks/${id}`)).status, 204);
  const deletedMs = performance.now();
  await pause(3_000);
  receivers.beforeAnswer(() => undefined);

  const late = receivedAt(bot).filter(({ atMs }) => atMs > deletedMs + 1_000);
  assert.is(late.length, 0);
});

test('a backlog of the fleet that is too long is a note', async () => {
  const bot = await createBot();
  const { id } = await create(`bots/${bot}`, { url: receivers.url('ok', bot) });
  const wait = async (pending: number): Promise<void> => {
    await world.sql`update webhook_endpoints set pending = ${pending} where id = ${id}`;
    await world.webhooks.refresh();
  };
  await wait(5_000_001);
  assertNote('webhook_backlog', world.webhooks.listNotes());
  await wait(0);
  assertNoNote('webhook_backlog', world.webhooks.listNotes());
});

test('a webhook of one listing cannot be reached through another', async () => {
  const [one, two] = [await createBot(), await createBot()];
  const { id } = await create(`bots/${one}`, { url: receivers.url('ok', one) });
  for (const [method, rest, body] of [
    ['PATCH', '', { enabled: false }],
    ['DELETE', '', undefined],
    ['POST', '/secret', undefined],
    ['POST', '/test', undefined],
    ['GET', '/deliveries', undefined],
    ['DELETE', '/deliveries', undefined],
    ['POST', '/replay', { number: 1 }],
  ] as const) {
    const { status } = await call(method, `/bots/${two}/webhooks/${id}${rest}`, { body });
    assert.is(status, 404, `${method} ${rest}`);
  }
});

test.run();

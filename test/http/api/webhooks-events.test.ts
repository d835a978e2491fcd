/**
 * Webhooks of a team for all that it owns, and events that are not votes: from what happens to the receiver.
 *
 * Against a complete Rollcall; the receiver is a real TLS server on loopback.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkReminders } from '../../../ops/jobs/reminders.ts';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { openWorld, type World } from './world.ts';

const test = suite('events of webhooks');
const receivers = await startWebhookReceivers();
const world: World = await openWorld({ webhooks: { ca: receivers.ca } });
const hourMs = 3_600_000;

test.before(async () => {
  await addUser(world.sql, 'robin');
  await addTeam(world.sql, 'keepers');
  await addMember(world.sql, 'keepers', { user: 'robin', permissions: ['owner'] });
  await addBot(world.sql, 'bot1', { team_id: 'keepers' });
  await addBot(world.sql, 'bot2', { team_id: 'keepers' });
  await addServer(world.sql, 'server1', { team_id: 'keepers' });
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const call = async (method: string, path: string, body?: object, owner = 'robin') => {
  const token = await world.token('user', owner);
  return world.ask(method, path, { token, ...(body === undefined ? {} : { body }) });
};
const create = async (target: string, fields: object) => {
  const { status, json, text } = await call('POST', `/${target}/webhooks`, { name: 'x', ...fields });
  assert.is(status, 201, text);
  return json;
};
const receivedAt = (rest: string) =>
  receivers.received.filter(({ path }) => path.endsWith(`/${rest}`)).map(({ body }) => JSON.parse(body));
const waitFor = async (rest: string, count: number) => {
  await world.webhooks.look();
  await until(`${count} events`, () => receivedAt(rest).length >= count);
  return receivedAt(rest);
};
const vote = async (user: string, target: string): Promise<void> => {
  await addUser(world.sql, user);
  const { status } = await call('PUT', `/users/${user}/${target}/votes?upvote=true`, undefined, user);
  assert.is(status, 204);
  await world.engine.waitForFlush(target.startsWith('bot') ? 'bot' : 'server', target.replace(/.*\//, ''));
};

test('a webhook of a team has the votes of all that it owns, and a replay of them by time', async () => {
  const { id, scope } = await create('teams/keepers', { url: receivers.url('ok', 'all'), scope: 'owned' });
  const since = new Date(world.clock.nowMs() - 1_000).toISOString();
  for (const [user, target] of [
    ['ann', 'bots/bot1'],
    ['ben', 'bots/bot2'],
    ['cleo', 'servers/server1'],
  ] as const)
    await vote(user, target);
  const events = await waitFor('all', 3);

  assert.is(scope, 'owned');
  assert.equal(
    events
      .map(({ data }) => [data.user.id, data.target.type, data.target.id, data.number, data.votes])
      .sort(),
    [
      ['ann', 'bot', 'bot1', 1, 1],
      ['ben', 'bot', 'bot2', 1, 1],
      ['cleo', 'server', 'server1', 1, 1],
    ],
  );
  const path = `/teams/keepers/webhooks/${id}`;
  const until2 = new Date(world.clock.nowMs() + 1_000).toISOString();
  assert.is((await call('POST', `${path}/replay`, { number: 1 })).status, 400);
  assert.equal((await call('POST', `${path}/replay`, { since, until: until2 })).json, { queued: 3 });
  await waitFor('all', 6);
  const ids = receivers.received
    .filter((one) => one.path.endsWith('/all'))
    .map(({ headers }) => headers['webhook-id']);
  assert.is(new Set(ids).size, 3, 'repeats have the same id');
  const first = (await call('GET', `${path}/deliveries?limit=2`)).json;
  const rest = (await call('GET', `${path}/deliveries?limit=2&after=${first.next}`)).json;
  const listed = [...first.results, ...rest.results];
  assert.equal(listed.map((one) => [one.target.id, one.number, one.state]).sort(), [
    ['bot1', 1, 'delivered'],
    ['bot2', 1, 'delivered'],
    ['server1', 1, 'delivered'],
  ]);
  assert.is((await call('DELETE', path)).status, 204);
});

test('only a team owns listings → 400', async () => {
  const body = { name: 'x', url: receivers.url('ok'), scope: 'owned' };
  const { status, json } = await call('POST', '/bots/bot1/webhooks', body);
  assert.equal([status, Object.keys(json.context)[0]], [400, '/scope']);
});

test('the end of a wait, an edit and a disabled webhook are events for those that want them', async () => {
  const events = ['vote.ready', 'listing.updated', 'webhook.disabled'];
  await create('bots/bot1', { url: receivers.url('ok', 'events'), events });
  const gone = await create('bots/bot1', { url: receivers.url('gone', 'gone'), name: 'old one' });
  await vote('dana', 'bots/bot1');
  await world.webhooks.look();
  const [disabled] = await waitFor('events', 1);
  assert.equal(
    [disabled.type, disabled.data.webhook_id, disabled.data.name, disabled.data.reason],
    ['webhook.disabled', gone.id, 'old one', 'gone'],
  );

  assert.is((await call('PUT', '/users/dana/bots/bot1/reminders', undefined, 'dana')).status, 200);
  world.clock.skip(24 * hourMs);
  const { engine, clock, catalogue } = world;
  for (let round = 0; round < 2; round++)
    await checkReminders({ engine, clock, reminders: catalogue.reminders }, new AbortController().signal);
  const [, ready] = await waitFor('events', 2);
  assert.equal(
    [ready.type, ready.data.user.username, ready.data.target.id],
    ['vote.ready', 'name-of-dana', 'bot1'],
  );

  const { status, text } = await call('PATCH', '/bots/bot1/settings', {
    short: 'Another sentence about it, long enough for a description of a bot.',
  });
  assert.is(status, 204, text);
  const [, , updated] = await waitFor('events', 3);
  assert.equal(
    [updated.type, updated.data.fields, updated.data.target.name.length > 0],
    ['listing.updated', ['short'], true],
  );
  assert.is(receivedAt('events').length, 3);
});

test('the formats of top.gg have votes alone → 400', async () => {
  const fields = { name: 'x', url: receivers.url('ok'), format: 'topgg', events: ['listing.updated'] };
  assert.is((await call('POST', '/bots/bot1/webhooks', fields)).status, 400);
});

test('an edit ignores fields that it does not have', async () => {
  const { id } = await create('servers/server1', { url: receivers.url('ok', 'edited') });
  const path = `/servers/server1/webhooks/${id}`;
  const unknown = { upOnly: true, scope: 'owned', secret_hint: 'x' };
  const { status, text } = await call('PATCH', path, { name: 'edited', ...unknown });
  const { webhooks } = (await call('GET', '/servers/server1/webhooks')).json;
  const shown = webhooks.find((webhook: { id: string }) => webhook.id === id);

  assert.equal([status, shown.name, shown.up_only, shown.scope], [204, 'edited', false, 'listing'], text);
  await call('DELETE', path);
});

test('the lists say when it is tried: never in the past, and not while it is disabled', async () => {
  await addBot(world.sql, 'bot3');
  await addUser(world.sql, 'wren');
  const { id } = await create('bots/bot3', { url: receivers.url('broken', 'waits') });
  assert.is((await call('PUT', '/users/wren/bots/bot3/votes?upvote=true', undefined, 'wren')).status, 204);
  await world.engine.waitForFlush('bot', 'bot3');
  await until('an attempt', () => receivers.received.some(({ path }) => path.endsWith('/waits')));
  const readTimes = async (): Promise<(string | null)[]> => {
    const [shown] = (await call('GET', '/bots/bot3/webhooks')).json.webhooks;
    const [delivery] = (await call('GET', `/bots/bot3/webhooks/${id}/deliveries`)).json.results;
    return [shown.next_attempt_at, delivery.next_attempt_at];
  };
  await until('the end of its lease', async () => {
    const [row] = await world.sql`select lease_until_ms = 0 as ended from webhook_endpoints where id = ${id}`;
    return row?.['ended'];
  });
  for (const dueMs of [world.clock.nowMs() + hourMs, 1]) {
    await world.sql`update webhook_deliveries set next_at_ms = 1 where endpoint_id = ${id}`;
    await world.sql`update webhook_endpoints set due_at_ms = ${dueMs} where id = ${id}`;
    const leastMs = Math.max(dueMs, world.clock.nowMs());
    for (const time of await readTimes()) assert.ok(Date.parse(String(time)) >= leastMs, `${time}`);
  }
  await call('PATCH', `/bots/bot3/webhooks/${id}`, { enabled: false });
  assert.equal(await readTimes(), [null, null]);
});

test.run();

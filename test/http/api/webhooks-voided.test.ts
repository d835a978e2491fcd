/**
 * Votes that become void, as webhooks report them: from the decision to the receiver, in each format that can
 * say it.
 *
 * Against a complete Rollcall; the receiver is a real TLS server on loopback.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';
import { type Answer, openWorld, type World } from './world.ts';

const test = suite('webhooks of void votes');
const receivers = await startWebhookReceivers();
const world: World = await openWorld({ webhooks: { ca: receivers.ca } });
let users = 0;

test.before(async () => {
  await addUser(world.sql, 'robin');
  await upsertTier(world.sql, { id: 'tier', target_type: 'bot', position: 0, votes: 100, cents: 10 });
});
test.after(async () => {
  await world.close();
  await receivers.close();
});

const call = async (method: string, path: string, body?: object, owner = 'robin'): Promise<Answer> => {
  const token = await world.token('user', owner);
  return world.ask(method, path, { token, ...(body === undefined ? {} : { body }) });
};
/** Votes as a new user; resolves when the vote is in SQL. */
const vote = async (bot: string): Promise<string> => {
  const user = `voter${++users}`;
  await addUser(world.sql, user);
  assert.is((await call('PUT', `/users/${user}/bots/${bot}/votes?upvote=true`, undefined, user)).status, 204);
  await world.engine.waitForFlush('bot', bot);
  return user;
};
const receivedAt = (rest: string) =>
  receivers.received.filter(({ path }) => path.endsWith(`/${rest}`)).map(({ body }) => JSON.parse(body));

test('an event says what its voter had done; a replay says the same after a void', async () => {
  const bot = 'replayed';
  await addBot(world.sql, bot);
  const path = `/bots/${bot}/webhooks`;
  const { json } = await call('POST', path, { name: 'x', url: receivers.url('ok', bot) });
  await vote(bot);
  await until('the event', () => receivedAt(bot).length === 1);
  const [{ data }] = receivedAt(bot);
  assert.equal(data.voter, { times: 1, streak: 1, longest: 1 });
  const readState = async () => (await call('GET', `${path}/${json.id}/deliveries`)).json.results[0].state;
  await until('it is recorded', async () => (await readState()) === 'delivered');

  assert.is((await voidVote(world.sql, data.itag, 'operator')).kind, 'voided');
  assert.is((await call('POST', `${path}/${json.id}/replay`, { number: 1 })).json.queued, 1);
  await until('it was replayed', () => receivedAt(bot).length === 2);
  const [first, again] = receivers.received.filter((request) => request.path.endsWith(`/${bot}`));
  assert.equal([again?.headers['webhook-id'], again?.body], [first?.headers['webhook-id'], first?.body]);
  const log = (await world.ask('GET', `/bots/${bot}/votes/log?voter=1&after=${data.epoch}.0`)).json.results;
  assert.equal(log[0].voter, { times: 0, streak: 0, longest: 0 }, 'a void takes it away');
});

test('a voided vote, a redeem and a reset each reach the receiver once', async () => {
  const bot = 'voided';
  const ref = await addBot(world.sql, bot);
  const events = ['vote.voided'];
  const path = `/bots/${bot}/webhooks`;
  const { json } = await call('POST', path, { name: 'x', url: receivers.url('ok', bot), events });
  const user = await vote(bot);
  for (let count = 0; count < 3; count++) await vote(bot);
  const [first] = (await world.ask('GET', `/users/${user}/bots/${bot}/votes/@all`)).json.results;
  assert.is((await voidVote(world.sql, first.itag, 'operator')).kind, 'voided');
  await world.engine.deliverAdjustments('bot', bot);
  assert.is((await call('POST', `/bots/${bot}/votes/credits?votes=2`)).status, 200);
  const atMs = world.clock.nowMs() + 1;
  await resetVotes(world.sql, { scope: ref.incarnation, atMs, reason: 'monthly_reset' });
  await world.webhooks.look();
  await until('three events', () => receivedAt(bot).length >= 3);

  const said = receivedAt(bot).map(({ type, data }) => {
    const { number, reason, upvotes, downvotes, before, votes } = data;
    return [type, number, reason, upvotes, downvotes, data.vote?.user.id, before, votes];
  });
  const before = new Date(atMs).toISOString();
  assert.equal(
    said.sort((one, other) => one[1] - other[1]),
    [
      ['vote.voided', 1, 'operator', 1, 0, user, null, 3],
      ['vote.voided', 3, 'redeemed', 2, 0, undefined, null, 1],
      ['vote.voided', 4, 'monthly_reset', 1, 0, undefined, before, 0],
    ],
  );
  const listed = (await call('GET', `${path}/${json.id}/deliveries`)).json.results;
  assert.equal(
    listed.map(({ type }: { type: string }) => type),
    ['vote.voided', 'vote.voided', 'vote.voided'],
  );
  const ids = receivers.received
    .filter((one) => one.path.endsWith(`/${bot}`))
    .map((one) => one.headers['webhook-id']);
  assert.equal(listed.map(({ id }: { id: string }) => id).sort(), ids.sort());
});

test('a plan is one event a page and listing, again after an undo, and an undo is one, too', async () => {
  const bot = 'planned';
  const ref = await addBot(world.sql, bot);
  const { json } = await call('POST', `/bots/${bot}/webhooks`, {
    name: 'x',
    url: receivers.url('ok', bot),
    events: ['vote.voided', 'vote.restored'],
  });
  assert.ok(json.id);
  for (let count = 0; count < 3; count++) await vote(bot);
  const { plans } = world.catalogue.operator;
  const query = {
    target_type: ref.kind,
    target_id: bot,
    since: '2020-01-01T00:00:00Z',
    before: '2150-01-01T00:00:00Z',
  };
  const waits = { nowMs: world.clock.nowMs(), waitMsMax: 1 };
  const use = async (): Promise<string> => {
    const plan = { query, reason: 'A farm.', operator: 'robin', releases: false } as const;
    const id = (await plans.createPlan(plan)) ?? '';
    await plans.fillPlan(id);
    assert.ok(await plans.startVoiding(id));
    while ((await plans.takePage(id, waits)).isMore);
    return id;
  };
  const first = await use();
  assert.ok(await plans.startUndo(first));
  while ((await plans.takePage(first, waits)).isMore);
  await use();
  await world.engine.deliverAdjustments('bot', bot);
  await world.webhooks.look();
  await until('three events', () => receivedAt(bot).length >= 3);

  const said = receivedAt(bot).map(({ type, data }) => {
    const { number, reason, upvotes, downvotes, votes } = data;
    return [type, number, reason, upvotes, downvotes, data.vote, data.before, votes, data.target.id];
  });
  const count = [3, 'operator', 3, 0, null, null];
  assert.equal(said, [
    ['vote.voided', ...count, 0, ref.id],
    ['vote.restored', ...count, 3, ref.id],
    ['vote.voided', ...count, 0, ref.id],
  ]);
});

test('the format topgg has no void votes → 400, also when the format changes', async () => {
  await addBot(world.sql, 'topgg');
  const body = { name: 'x', url: receivers.url('ok'), events: ['vote.created', 'vote.voided'] };
  const { status, json } = await call('POST', '/bots/topgg/webhooks', { ...body, format: 'topgg' });
  assert.equal([status, Object.keys(json.context)[0]], [400, '/events']);
  const { id, secret } = (await call('POST', '/bots/topgg/webhooks', body)).json;
  assert.is((await call('PATCH', `/bots/topgg/webhooks/${id}`, { format: 'topgg', secret })).status, 400);
  const both = { format: 'topgg', events: ['vote.created'], secret };
  assert.is((await call('PATCH', `/bots/topgg/webhooks/${id}`, both)).status, 204);
  assert.is((await call('PATCH', `/bots/topgg/webhooks/${id}`, { events: ['vote.voided'] })).status, 400);
});

test.run();
